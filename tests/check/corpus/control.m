1;
function r = level (x)
  switch (x)
    case {1, 2} r = "low";
    case 3 r = "three";
    otherwise r = "more";
  end
end
function r = deep (n)
  if (n == 0) error ("my:id", "deep"); end
  r = deep (n - 1) + 1;
end
for i = 1:4
  try
    deep (i * 5);
  catch e
    disp (e.identifier);
  end
end
unwind_protect
  x = cellfun (@(x) x * 2, {1, 2, 3});
  disp (x);
unwind_protect_cleanup
  disp ("cleanup");
end
disp (arrayfun (@(k) quad (@(t) t .^ k, 0, 1), 1:3));
disp (fzero (@(x) x ^ 2 - 2, [0, 2]));
s = struct ("a", {1, 2}); disp (numel (s)); disp (regexprep ("ab", "(a)(b)", "$2$1"));
A = [4 1; 2 3]; disp (eig (A)'); disp (A \ [1; 2]);
eval ("y = [1, 2", "disp ('bad')"); disp (feval (@plus, 1, 2));
disp (level (3));
