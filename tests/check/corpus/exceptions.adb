with Ada.Text_IO; use Ada.Text_IO; with Ada.Exceptions; use Ada.Exceptions; with Ada.Finalization;
procedure Exceptions is
   Mine : exception;
   type G is new Ada.Finalization.Controlled with null record;
   procedure Finalize (X : in out G);
   procedure Finalize (X : in out G) is begin null; end Finalize;
   function Deep (N : Integer) return Integer is
      X : G;
   begin
      if N = 0 then raise Mine with "deep"; end if;
      return Deep (N - 1) + 1;
   end Deep;
   task type Worker is entry Start (N : Integer); entry Stop; end Worker;
   task body Worker is
      M : Integer := 0;
   begin
      accept Start (N : Integer) do M := N; end Start;
      begin
         if M = 2 then M := Deep (3); end if;
      exception when Mine => Put_Line ("in task");
      end;
      accept Stop;
   end Worker;
   type Acc is access function (N : Integer) return Integer;
   function Apply (F : not null access function (N : Integer) return Integer; N : Integer) return Integer is (F (N));
   Total : Integer := 0;
   function Nested (N : Integer) return Integer is begin Total := Total + N; return Total; end Nested;
   A : array (1 .. 3) of Integer := (1, 2, 3);
   W : array (1 .. 3) of Worker;
   Zero : Integer := Total;
begin
   for I in 1 .. 5 loop
      begin
         Put_Line (Integer'Image (Deep (I)));
      exception
         when E : Mine => Put_Line (Exception_Message (E));
      end;
   end loop;
   begin A (Apply (Nested'Access, 4)) := 1; exception when Constraint_Error => Put_Line ("bounds"); end;
   begin Put_Line (Integer'Image (1 / Zero)); exception when others => Put_Line ("zero"); end;
   for I in W'Range loop W (I).Start (I); end loop;
   for I in W'Range loop W (I).Stop; end loop;
   select
      delay 0.01; Put_Line ("late");
   then abort
      loop delay 0.001; end loop;
   end select;
end Exceptions;
