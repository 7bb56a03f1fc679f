<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>
<CPLEXSolutions version="1.0">
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
   writeLevel="3"/>
 <quality
   epInt="1.0000000000000001e-05"
   epRHS="9.9999999999999995e-07"
   maxIntInfeas="0"
   maxPrimalInfeas="0"
   maxX="1"
   maxSlack="1"/>
 <variables>
  <variable name="x_train_0_pod_0_at_0.0.0_size_2x1x1" index="4" value="1"/>
  <variable name="x_train_1_pod_0_at_2.0.0_size_2x1x1" index="17" value="1"/>
  <variable name="x_eval_pod_1_at_3.0.0_size_1x1x1" index="25" value="1"/>
  <variable name="absent_old_job" index="31" value="1"/>
  <variable name="shape_train_1" index="33" value="1"/>
  <variable name="pod_train_0" index="34" value="1"/>
 </variables>
</CPLEXSolution>
<CPLEXSolution version="1.2">
 <header
   problemName="sample.lp"
   solutionName="p1"
   solutionIndex="1"
   objectiveValue="4"
   solutionStatusValue="101"
   solutionStatusString="integer optimal solution"/>
 <variables>
  <variable name="x_eval_pod_1_at_3.0.0_size_1x1x1" index="25" value="1"/>
 </variables>
</CPLEXSolution>
</CPLEXSolutions>
