{$mode objfpc}
uses sysutils, classes;
type TA = class procedure f; virtual; end; TB = class(TA) procedure f; override; end;
 TW = class(TThread) procedure Execute; override; end;
procedure TA.f; begin writeln('a'); end; procedure TB.f; begin writeln('b'); end;
procedure TW.Execute; begin end;
function cmp(a, b: Pointer): Integer; begin cmp := PtrInt(a) - PtrInt(b); end;
var x: TA; l: TList;
begin x := TB.Create; x.f; try raise Exception.Create('e'); except on e: Exception do writeln(e.message); end;
 l := TList.Create; l.Add(Pointer(3)); l.Add(Pointer(1)); l.Sort(@cmp); writeln(PtrInt(l[0])); end.
