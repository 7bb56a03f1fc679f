package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import java.util.Optional;

/** Which workload a pod belongs to: by controller references, and by the labels of its kind. */
interface Owners {

  /**
   * A pod's place in its workload.
   *
   * @param request the id of the request, whether or not the workload is among the objects
   * @param slice the number of its slice, from 0
   * @param worker its number in the slice, from 0; -1 if unknown
   */
  record PodOwner(String request, int slice, int worker) {}

  /** Empty for pods that want no chips and belong to no workload that does. */
  Optional<PodOwner> of(Pod pod);

  /**
   * The request id of the workload that a Slice's owner annotations name (a Kueue Workload stands
   * for the object that controls it).
   */
  Optional<String> of(String namespace, String workload, String podSet);
}
