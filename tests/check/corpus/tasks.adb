with Ada.Text_IO; with Ada.Exceptions;
procedure Tasks is
   protected Box is
      procedure Put (N : Integer);
      entry Get (N : out Integer);
   private
      Full : Boolean := False;
      Value : Integer := 0;
   end Box;
   protected body Box is
      procedure Put (N : Integer) is
      begin
         Value := N; Full := True;
      end Put;
      entry Get (N : out Integer) when Full is
      begin
         N := Value; Full := False;
      end Get;
   end Box;
   task type Worker is
      entry Start (N : Integer);
      entry Stop (Sum : out Integer);
   end Worker;
   task body Worker is
      Total : Integer := 0; Each : Integer;
   begin
      accept Start (N : Integer) do Each := N; end Start;
      for I in 1 .. 50 loop
         begin
            if I mod 7 = 0 then raise Constraint_Error with "seven"; end if;
            Total := Total + Each;
         exception
            when E : Constraint_Error => Total := Total + Ada.Exceptions.Exception_Message (E)'Length;
         end;
      end loop;
      select
         accept Stop (Sum : out Integer) do Sum := Total; end Stop;
      or
         delay 5.0;
      end select;
   end Worker;
   Workers : array (1 .. 4) of Worker;
   Sum : Integer; All_Of : Integer := 0;
begin
   for I in Workers'Range loop Workers (I).Start (I); end loop;
   for I in Workers'Range loop Workers (I).Stop (Sum); All_Of := All_Of + Sum; end loop;
   Box.Put (All_Of); Box.Get (Sum);
   select
      delay 0.01;
   then abort
      loop Sum := Sum + 0; delay 0.001; end loop;
   end select;
   Ada.Text_IO.Put_Line (Integer'Image (Sum));
end Tasks;
