Columns
    Index Status        Lower        Upper       Primal         Dual  Type        Name
        0                   0            1            0               Integer     x_train_0_pod_0_at_0.0.0_size_1x1x1
        1                   0            1            1               Integer     x_train_0_pod_0_at_1.0.0_size_1x1x1
        2                   0            1            0               Integer     x_train_0_pod_0_at_2.0.0_size_1x1x1
        3                   0            1            0               Integer     x_train_0_pod_0_at_3.0.0_size_1x1x1
        4                   0            1            0               Integer     x_train_0_pod_0_at_0.0.0_size_2x1x1
        5                   0            1            0               Integer     x_train_0_pod_0_at_2.0.0_size_2x1x1
        6                   0            1           -0               Integer     x_train_0_pod_1_at_0.0.0_size_1x1x1
        7                   0            1           -0               Integer     x_train_0_pod_1_at_1.0.0_size_1x1x1
        8                   0            1            0               Integer     x_train_0_pod_1_at_2.0.0_size_1x1x1
        9                   0            1            0               Integer     x_train_0_pod_1_at_3.0.0_size_1x1x1
       10                   0            1            0               Integer     x_train_0_pod_1_at_0.0.0_size_2x1x1
       11                   0            1            0               Integer     x_train_0_pod_1_at_2.0.0_size_2x1x1
       12                   0            1            0               Integer     x_train_1_pod_0_at_0.0.0_size_1x1x1
       13                   0            1            0               Integer     x_train_1_pod_0_at_1.0.0_size_1x1x1
       14                   0            1           -0               Integer     x_train_1_pod_0_at_2.0.0_size_1x1x1
       15                   0            1            1               Integer     x_train_1_pod_0_at_3.0.0_size_1x1x1
       16                   0            1            0               Integer     x_train_1_pod_0_at_0.0.0_size_2x1x1
       17                   0            1            0               Integer     x_train_1_pod_0_at_2.0.0_size_2x1x1
       18                   0            1           -0               Integer     x_train_1_pod_1_at_0.0.0_size_1x1x1
       19                   0            1            0               Integer     x_train_1_pod_1_at_1.0.0_size_1x1x1
       20                   0            1            0               Integer     x_train_1_pod_1_at_2.0.0_size_1x1x1
       21                   0            1            0               Integer     x_train_1_pod_1_at_3.0.0_size_1x1x1
       22                   0            1            0               Integer     x_train_1_pod_1_at_0.0.0_size_2x1x1
       23                   0            1            0               Integer     x_train_1_pod_1_at_2.0.0_size_2x1x1
       24                   0            1           -0               Integer     x_eval_pod_0_at_0.0.0_size_1x1x1
       25                   0            1            1               Integer     x_eval_pod_1_at_3.0.0_size_1x1x1
       26                   0            1            1               Integer     x_old_job_0_pod_0_at_0.0.0_size_1x1x1
       27                   0            1           -0               Integer     x_old_job_0_pod_0_at_1.0.0_size_1x1x1_moved
       28                   0            1            1               Integer     x_old_job_1_pod_1_at_2.0.0_size_1x1x1
       29                   0            1           -0               Integer     x_old_job_1_pod_1_at_2.0.0_size_1x1x1_moved
       30                   0            1            0               Integer     absent_train
       31                   0            1            0               Integer     absent_old_job
       32                   0            1            1               Integer     shape_train_0
       33                   0            1           -0               Integer     shape_train_1
       34                   0            1            1               Integer     pod_train_0
       35                   0            1           -0               Integer     pod_train_1
       36                   0            1           -0               Integer     moved_old_job
Rows
    Index Status        Lower        Upper       Primal         Dual  Name
        0                   1            1            1               item_train_0
        1                   1            1            1               item_train_1
        2                -inf            1            1               item_eval
        3                   1            1            1               item_old_job_0
        4                   1            1            1               item_old_job_1
        5                -inf            1            1               cell_0
        6                -inf            1            1               cell_1
        7                -inf            1            0               cell_2
        8                -inf            1            1               cell_3
        9                -inf            1            0               cell_4
       10                -inf            1            0               cell_5
       11                -inf            1            1               cell_6
       12                -inf            1            1               cell_7
       13                   0            0            0               same_shape_train_0_0
       14                   0            0            0               same_shape_train_1_0
       15                   0            0            0               same_shape_train_0_1
       16                   0            0            0               same_shape_train_1_1
       17                   0            0            0               same_pod_train_0_0
       18                   0            0            0               same_pod_train_1_0
       19                   0            0            0               same_pod_train_0_1
       20                   0            0            0               same_pod_train_1_1
       21                -inf            1            1               apart_old_job_pod_0
       22                -inf            1            1               apart_old_job_pod_1
       23                -inf            0            0               if_moved_old_job
       24                -inf            0            0               if_moved_old_job_2
       25                   0          inf            0               only_if_moved_old_job
       26                -inf            3            3               row_quota_of_team_a
       27                -inf            1            0               row_tenants_touched

Model status: Optimal

Objective value: 20
