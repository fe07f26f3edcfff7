(display (call-with-current-continuation (lambda (k) (+ 1 (k 42)))))
(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))
(display (f 12))
(call-with-current-continuation
  (lambda (k) (dynamic-wind (lambda () (display 1)) (lambda () (k 2)) (lambda () (display 3)))))
(exit)
