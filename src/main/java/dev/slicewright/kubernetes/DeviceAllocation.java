package dev.slicewright.kubernetes;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The chips of one slice on one node, as devices of dynamic resource allocation (DRA, {@code
 * resource.k8s.io}). Immutable, safe to share.
 *
 * <p>They are the chips of a shape that the platform can form, never any n of the node: a claim for
 * n devices alone cannot say that. A device is named {@code tpu-} and the number of its chip on the
 * node, x fastest, then y, then z; its pool is the node.
 *
 * @param request the id of the workload's request
 * @param slice the number of the slice, from 0
 * @param driver the driver that publishes the devices, such as {@code tpu.google.com}
 * @param node the name of the node
 * @param devices names of devices, ascending by number
 */
public record DeviceAllocation(
    String request, int slice, String driver, String node, List<String> devices) {
  /** Checks for null and copies the list. */
  public DeviceAllocation {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(driver, "driver");
    Objects.requireNonNull(node, "node");
    devices = List.copyOf(devices);
  }

  /**
   * The entries of {@code status.allocation.devices.results} of a ResourceClaim.
   *
   * @param claimRequest the name of the request in the claim, {@code spec.devices.requests[].name}
   * @return a map for each device: request, driver, pool and device
   */
  public List<Map<String, @Nullable Object>> results(String claimRequest) {
    Objects.requireNonNull(claimRequest, "claimRequest");
    return devices.stream()
        .map(
            device -> {
              Map<String, @Nullable Object> result = new LinkedHashMap<>();
              result.put("request", claimRequest);
              result.put("driver", driver);
              result.put("pool", node);
              result.put("device", device);
              return result;
            })
        .toList();
  }
}
