{$mode objfpc}
program exceptions;
uses {$ifdef unix}cthreads,{$endif} sysutils, classes;
type
  EMine = class(Exception);
  TBase = class
    procedure Run; virtual; abstract;
    destructor Destroy; override;
  end;
  TMore = class(TBase)
    procedure Run; override;
  end;
  TWorker = class(TThread)
    procedure Execute; override;
  end;
  TAct = procedure of object;
  TFn = function(n: integer): integer;
destructor TBase.Destroy; begin writeln('gone'); inherited; end;
function Deep(n: integer): integer;
begin
  try
    if n = 0 then raise EMine.Create('deep');
    result := Deep(n - 1) + 1;
  finally
    if n = 2 then writeln('finally');
  end;
end;
procedure TMore.Run; begin writeln('run ', Deep(3)); end;
procedure TWorker.Execute; begin try Deep(4); except on e: EMine do writeln('thread'); end; end;
function Twice(n: integer): integer; begin result := n * 2; end;
var b: TBase; a: TAct; f: TFn; w: TWorker; i, z: integer; p: ^integer; s: string;
begin
  b := TMore.Create; a := @b.Run; f := @Twice; z := 0; p := nil;
  for i := 1 to 3 do try a(); except on e: EMine do writeln(e.Message); end;
  try writeln(1 div z); except on e: EDivByZero do writeln('zero'); end;
  try p^ := 1; except on e: EAccessViolation do writeln('nil'); end;
  try i := StrToInt('x'); except on e: EConvertError do writeln('convert'); end;
  w := TWorker.Create(false); w.WaitFor; w.Free;
  for s in TStringArray.Create('a', 'b') do write(s);
  case f(2) of 1: writeln(1); 4: writeln(4); 9..12: writeln(9); end;
  b.Free;
end.
