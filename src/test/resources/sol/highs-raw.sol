Model status
Optimal

# Primal solution values
Feasible
Objective 20
# Columns 37
x_train_0_pod_0_at_0.0.0_size_1x1x1 0
x_train_0_pod_0_at_1.0.0_size_1x1x1 1
x_train_0_pod_0_at_2.0.0_size_1x1x1 0
x_train_0_pod_0_at_3.0.0_size_1x1x1 0
x_train_0_pod_0_at_0.0.0_size_2x1x1 0
x_train_0_pod_0_at_2.0.0_size_2x1x1 0
x_train_0_pod_1_at_0.0.0_size_1x1x1 0
x_train_0_pod_1_at_1.0.0_size_1x1x1 0
x_train_0_pod_1_at_2.0.0_size_1x1x1 0
x_train_0_pod_1_at_3.0.0_size_1x1x1 0
x_train_0_pod_1_at_0.0.0_size_2x1x1 0
x_train_0_pod_1_at_2.0.0_size_2x1x1 0
x_train_1_pod_0_at_0.0.0_size_1x1x1 0
x_train_1_pod_0_at_1.0.0_size_1x1x1 0
x_train_1_pod_0_at_2.0.0_size_1x1x1 0
x_train_1_pod_0_at_3.0.0_size_1x1x1 1
x_train_1_pod_0_at_0.0.0_size_2x1x1 0
x_train_1_pod_0_at_2.0.0_size_2x1x1 0
x_train_1_pod_1_at_0.0.0_size_1x1x1 0
x_train_1_pod_1_at_1.0.0_size_1x1x1 0
x_train_1_pod_1_at_2.0.0_size_1x1x1 0
x_train_1_pod_1_at_3.0.0_size_1x1x1 0
x_train_1_pod_1_at_0.0.0_size_2x1x1 0
x_train_1_pod_1_at_2.0.0_size_2x1x1 0
x_eval_pod_0_at_0.0.0_size_1x1x1 0
x_eval_pod_1_at_3.0.0_size_1x1x1 1
x_old_job_0_pod_0_at_0.0.0_size_1x1x1 1
x_old_job_0_pod_0_at_1.0.0_size_1x1x1_moved 0
x_old_job_1_pod_1_at_2.0.0_size_1x1x1 1
x_old_job_1_pod_1_at_2.0.0_size_1x1x1_moved 0
absent_train 0
absent_old_job 0
shape_train_0 1
shape_train_1 0
pod_train_0 1
pod_train_1 0
moved_old_job 0
# Rows 28
item_train_0 1
item_train_1 1
item_eval 1
item_old_job_0 1
item_old_job_1 1
cell_0 1
cell_1 1
cell_2 0
cell_3 1
cell_4 0
cell_5 0
cell_6 1
cell_7 1
same_shape_train_0_0 0
same_shape_train_1_0 0
same_shape_train_0_1 0
same_shape_train_1_1 0
same_pod_train_0_0 0
same_pod_train_1_0 0
same_pod_train_0_1 0
same_pod_train_1_1 0
apart_old_job_pod_0 1
apart_old_job_pod_1 1
if_moved_old_job 0
if_moved_old_job_2 0
only_if_moved_old_job 0
row_quota_of_team_a 3
row_tenants_touched 0

# Dual solution values
None

# Basis
HiGHS_basis_file v2
None
