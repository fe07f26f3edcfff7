with Ada.Text_IO; use Ada.Text_IO; with Ada.Finalization;
procedure Methods is
   package P is
      type T is tagged null record; procedure F (X : T); type U is new T with null record; overriding procedure F (X : U);
      type C is new Ada.Finalization.Controlled with null record; overriding procedure Finalize (X : in out C);
   end P;
   package body P is
      procedure F (X : T) is begin Put_Line ("t"); end F; procedure F (X : U) is begin Put_Line ("u"); end F;
      procedure Finalize (X : in out C) is begin Put_Line ("fin"); end Finalize;
   end P;
   task W is entry Go (N : Integer); end W;
   task body W is begin accept Go (N : Integer) do Put_Line (N'Image); end Go; end W;
   procedure Call (X : P.T'Class) is begin P.F (X); end Call;
   V : P.U; K : P.C; pragma Unreferenced (K); E : exception;
   generic with procedure Q (N : Integer); procedure G; procedure G is begin Q (4); end G;
   procedure Show (N : Integer) is begin Put_Line (N'Image); end Show; procedure H is new G (Show);
begin Call (V); W.Go (3); H; begin raise E; exception when E => Put_Line ("e"); end; end Methods;
