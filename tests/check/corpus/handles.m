function r = g(x) r = x * 2; end
try, error('id:x', 'boom'); catch e, disp(e.identifier); end
f = @(x) x.^2; disp(sum(f(1:10))); disp(cellfun(@g, {1,2,3})); unwind_protect, x = 1; unwind_protect_cleanup, disp(x); end_unwind_protect
disp(quad(@(x) x.^2, 0, 1)); disp(eig([2 1;1 2]));
