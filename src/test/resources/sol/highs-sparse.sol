Model status
Optimal

# Primal solution values
Feasible
Objective 20
# Columns -7
x_train_0_pod_0_at_1.0.0_size_1x1x1 1 1
x_train_1_pod_0_at_3.0.0_size_1x1x1 1 15
x_eval_pod_1_at_3.0.0_size_1x1x1 1 25
x_old_job_0_pod_0_at_0.0.0_size_1x1x1 1 26
x_old_job_1_pod_1_at_2.0.0_size_1x1x1 1 28
shape_train_0 1 32
pod_train_0 1 34
