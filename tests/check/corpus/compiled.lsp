;;; For GCL: functions that the image has compiled, and one that is compiled here; a throw through them.
(defun f (n) (if (= n 0) 0 (+ 1 (f (- n 1)))))
(compile 'f)
(print (f 100))
(print (catch 'a (mapcar #'(lambda (x) (when (> x 2) (throw 'a x))) (list 1 2 3))))
(si::gbc t)
(print (f 50))
(bye)
