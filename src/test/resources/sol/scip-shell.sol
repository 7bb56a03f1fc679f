solution status: optimal solution found
objective value:                                   20
x_train_0_pod_0_at_0.0.0_size_2x1x1                    1 	(obj:8)
x_train_1_pod_0_at_2.0.0_size_2x1x1                    1 	(obj:8)
x_eval_pod_1_at_3.0.0_size_1x1x1                    1 	(obj:4)
absent_old_job                                      1 	(obj:0)
shape_train_1                                       1 	(obj:0)
pod_train_0                                         1 	(obj:0)
