#lang racket/base
(define (f n) (if (= n 0) (error "x") (+ 1 (f (- n 1)))))
(for ([i 5]) (with-handlers ([exn:fail? (lambda (e) (displayln (exn-message e)))]) (f i)))
(displayln (call/cc (lambda (k) (for ([i 5]) (when (= i 3) (k i))) 0)))
