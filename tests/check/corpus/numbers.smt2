; Numbers that multiply to 21.
(declare-const x Int)(declare-const y Int)(assert (and (> x 2)(< y 10)(= (* x y) 21)))(check-sat)(get-model)
