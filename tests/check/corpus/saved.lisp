; Saved with its runtime as a program of another name. It calls C functions by their addresses.
(defun tell ()
  (print (alien-funcall (extern-alien "getppid" (function int))))
  (print (sb-alien::find-dynamic-foreign-symbol-address "setsid"))
  (load-shared-object "libm.so.6")
  (print (alien-funcall (extern-alien "cbrt" (function double double)) 27d0))
  (print (handler-case (error "wrong") (error (e) (princ-to-string e))))
  (terpri))
(save-lisp-and-die "x" :executable t :toplevel (lambda () (tell) (exit)))
