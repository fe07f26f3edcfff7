(define (f n) (if (= n 0) (error "x") (+ 1 (f (- n 1)))))
(do ((i 0 (+ i 1))) ((= i 4)) (catch #t (lambda () (f i)) (lambda a (display "c"))))
(display (call/cc (lambda (k) (for-each (lambda (x) (if (= x 2) (k x))) '(1 2 3)) 0)))
(define k2 #f) (define n 0) (display (+ 1 (call/cc (lambda (k) (set! k2 k) 1)))) (set! n (+ n 1)) (if (< n 3) (k2 n)) (newline)
