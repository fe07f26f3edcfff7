{$mode objfpc}
program threads;
uses cthreads, Classes, SysUtils;
type
  TWorker = class(TThread)
    Sum: Integer;
    procedure Execute; override;
  end;
procedure TWorker.Execute;
var i: Integer;
begin
  for i := 1 to 100 do
    try
      if i mod 9 = 0 then raise Exception.Create('nine');
      if i mod 10 = 0 then Sum := Sum + StrToInt('x') else Inc(Sum, i);
    except
      on E: EConvertError do Inc(Sum, 2);
      on E: Exception do Inc(Sum, Length(E.Message));
    end;
end;
var w: array[1..4] of TWorker; i, all: Integer;
begin
  for i := 1 to 4 do w[i] := TWorker.Create(False);
  all := 0;
  for i := 1 to 4 do begin w[i].WaitFor; all := all + w[i].Sum; w[i].Free; end;
  WriteLn(all);
end.
