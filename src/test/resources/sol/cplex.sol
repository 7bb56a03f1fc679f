<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>
<CPLEXSolution version="1.2">
 <header
   problemName="sample.lp"
   solutionName="incumbent"
   solutionIndex="-1"
   objectiveValue="20"
   solutionTypeValue="3"
   solutionTypeString="primal"
   solutionStatusValue="101"
   solutionStatusString="integer optimal solution"
   solutionMethodString="mip"
   primalFeasible="1"
   dualFeasible="1"
   MIPNodes="0"
   MIPIterations="4"
   writeLevel="1"/>
 <quality
   epInt="1.0000000000000001e-05"
   epRHS="9.9999999999999995e-07"
   maxIntInfeas="0"
   maxPrimalInfeas="0"
   maxX="1"
   maxSlack="1"/>
 <linearConstraints>
  <constraint name="item_train_0" index="0" slack="0"/>
  <constraint name="item_train_1" index="1" slack="0"/>
 </linearConstraints>
 <variables>
  <variable name="x_train_0_pod_0_at_0.0.0_size_1x1x1" index="0" value="0"/>
  <variable name="x_train_0_pod_0_at_1.0.0_size_1x1x1" index="1" value="-0"/>
  <variable name="x_train_0_pod_0_at_2.0.0_size_1x1x1" index="2" value="0"/>
  <variable name="x_train_0_pod_0_at_3.0.0_size_1x1x1" index="3" value="1.1102230246251565e-16"/>
  <variable name="x_train_0_pod_0_at_0.0.0_size_2x1x1" index="4" value="1"/>
  <variable name="x_train_0_pod_0_at_2.0.0_size_2x1x1" index="5" value="-0"/>
  <variable name="x_train_0_pod_1_at_0.0.0_size_1x1x1" index="6" value="0"/>
  <variable name="x_train_0_pod_1_at_1.0.0_size_1x1x1" index="7" value="1.1102230246251565e-16"/>
  <variable name="x_train_0_pod_1_at_2.0.0_size_1x1x1" index="8" value="0"/>
  <variable name="x_train_0_pod_1_at_3.0.0_size_1x1x1" index="9" value="-0"/>
  <variable name="x_train_0_pod_1_at_0.0.0_size_2x1x1" index="10" value="0"/>
  <variable name="x_train_0_pod_1_at_2.0.0_size_2x1x1" index="11" value="1.1102230246251565e-16"/>
  <variable name="x_train_1_pod_0_at_0.0.0_size_1x1x1" index="12" value="0"/>
  <variable name="x_train_1_pod_0_at_1.0.0_size_1x1x1" index="13" value="-0"/>
  <variable name="x_train_1_pod_0_at_2.0.0_size_1x1x1" index="14" value="0"/>
  <variable name="x_train_1_pod_0_at_3.0.0_size_1x1x1" index="15" value="1.1102230246251565e-16"/>
  <variable name="x_train_1_pod_0_at_0.0.0_size_2x1x1" index="16" value="0"/>
  <variable name="x_train_1_pod_0_at_2.0.0_size_2x1x1" index="17" value="0.99999999"/>
  <variable name="x_train_1_pod_1_at_0.0.0_size_1x1x1" index="18" value="0"/>
  <variable name="x_train_1_pod_1_at_1.0.0_size_1x1x1" index="19" value="1.1102230246251565e-16"/>
  <variable name="x_train_1_pod_1_at_2.0.0_size_1x1x1" index="20" value="0"/>
  <variable name="x_train_1_pod_1_at_3.0.0_size_1x1x1" index="21" value="-0"/>
  <variable name="x_train_1_pod_1_at_0.0.0_size_2x1x1" index="22" value="0"/>
  <variable name="x_train_1_pod_1_at_2.0.0_size_2x1x1" index="23" value="1.1102230246251565e-16"/>
  <variable name="x_eval_pod_0_at_0.0.0_size_1x1x1" index="24" value="0"/>
  <variable name="x_eval_pod_1_at_3.0.0_size_1x1x1" index="25" value="0.99999999"/>
  <variable name="x_old_job_0_pod_0_at_0.0.0_size_1x1x1" index="26" value="0"/>
  <variable name="x_old_job_0_pod_0_at_1.0.0_size_1x1x1_moved" index="27" value="1.1102230246251565e-16"/>
  <variable name="x_old_job_1_pod_1_at_2.0.0_size_1x1x1" index="28" value="0"/>
  <variable name="x_old_job_1_pod_1_at_2.0.0_size_1x1x1_moved" index="29" value="-0"/>
  <variable name="absent_train" index="30" value="0"/>
  <variable name="absent_old_job" index="31" value="1.0000000000000002"/>
  <variable name="shape_train_0" index="32" value="0"/>
  <variable name="shape_train_1" index="33" value="0.99999999"/>
  <variable name="pod_train_0" index="34" value="1"/>
  <variable name="pod_train_1" index="35" value="1.1102230246251565e-16"/>
  <variable name="moved_old_job" index="36" value="0"/>
 </variables>
 <objectiveValues>
  <objective index="0" name="level_chips" value="20"/>
 </objectiveValues>
</CPLEXSolution>
