package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Hold;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Keeps holds in ConfigMaps, so that whoever leads next knows them too.
 *
 * <p>The keys: {@code id}, {@code pod} (the id of the pod of the fleet), {@code topology} (the
 * shape of each partition), {@code partitionIds} (joined by commas, in logical order; empty where
 * the pod is one slice as a whole), {@code request} and {@code expiry}.
 */
final class HoldObjects {

  private static final String ID = "id";
  private static final String POD = "pod";
  private static final String TOPOLOGY = "topology";
  private static final String PARTITION_IDS = "partitionIds";
  private static final String REQUEST = "request";
  private static final String EXPIRY = "expiry";

  private HoldObjects() {}

  /** Whether an object keeps a hold. */
  static boolean isHold(HasMetadata object) {
    return object instanceof ConfigMap && Generic.labels(object).containsKey(TpuLabels.OWN_HOLD);
  }

  /**
   * The object that keeps a hold.
   *
   * @param domain the hold's pod
   * @return a new, mutable object, named by a digest of the hold's id
   * @throws InvalidInputException if the hold is of another pod, or of chips that have no id
   */
  static ConfigMap toConfigMap(Hold hold, Domain domain, String namespace) {
    Map<String, String> data = new LinkedHashMap<>();
    data.put(ID, hold.id());
    data.put(POD, hold.pod());
    putFootprint(data, hold, domain);
    data.put(REQUEST, hold.request());
    data.put(EXPIRY, hold.expiry().toString());
    ObjectMeta metadata = new ObjectMeta();
    metadata.setNamespace(namespace);
    metadata.setName("slicewright-hold-" + Names.digest(hold.id()));
    metadata.setLabels(new LinkedHashMap<>(Map.of(TpuLabels.OWN_HOLD, "true")));
    ConfigMap map = new ConfigMap();
    map.setMetadata(metadata);
    map.setData(data);
    return map;
  }

  private static void putFootprint(Map<String, String> data, Hold hold, Domain domain) {
    TpuTopology topology = domain.topology();
    if (!hold.pod().equals(domain.id())) {
      throw new InvalidInputException(
          "hold",
          "hold.pod",
          "expected a hold of " + domain.id() + ", but was one of " + hold.pod());
    }
    Optional<HostFootprints.Found> whole = HostFootprints.whole(domain);
    if (domain.isAtomic()
        && whole.filter(w -> w.footprint().equals(hold.footprint())).isPresent()) {
      data.put(TOPOLOGY, whole.get().shape().toString());
      data.put(PARTITION_IDS, "");
      return;
    }
    PartitionForest forest = topology.partitions().orElse(null);
    if (forest != null && hold.footprint() instanceof Footprint.Partition partition) {
      data.put(TOPOLOGY, topology.platformForm(forest.shape(partition.id())).toString());
      data.put(PARTITION_IDS, domain.platformId(partition.id()));
    } else if (forest != null && hold.footprint() instanceof Footprint.Cubes cubes) {
      Map<CubeId, PartitionId> partitions = new LinkedHashMap<>();
      for (PartitionId id : forest.ofShape(SlicePlaces.CUBE)) {
        partitions.put(SlicePlaces.cube(topology, id), id);
      }
      data.put(TOPOLOGY, SlicePlaces.CUBE.toString());
      data.put(
          PARTITION_IDS,
          String.join(
              ",",
              cubes.cubes().stream().map(c -> platformId(domain, partitions.get(c), c)).toList()));
    } else {
      throw new InvalidInputException(
          "hold",
          "hold.footprint",
          "expected chips that the platform has ids for, but was " + hold.footprint());
    }
  }

  private static String platformId(Domain domain, @Nullable PartitionId partition, CubeId cube) {
    if (partition == null) {
      throw new InvalidInputException(
          "hold",
          "hold.footprint",
          "expected cubes of " + domain.id() + ", but was cube " + cube.index());
    }
    return domain.platformId(partition);
  }

  /** Reads a hold; what is wrong with it is a problem. That its chips are free is not checked. */
  static Optional<Hold> read(ConfigMap map, Domains domains, Problems problems) {
    Reading reading = new Reading(map, problems);
    String id = reading.text(ID);
    String pod = reading.text(POD);
    Shape topology = reading.topology();
    String request = reading.text(REQUEST);
    String expiry = reading.text(EXPIRY);
    Instant end = expiry == null ? null : Times.read(expiry, reading.path(EXPIRY), problems);
    Domain domain = pod == null ? null : domains.domain(pod).orElse(null);
    if (pod != null && domain == null) {
      reading.problem(POD, "expected a pod of the fleet, but was " + pod + "; read its nodes too");
    }
    Footprint footprint =
        domain == null || topology == null ? null : reading.footprint(domain, topology, domains);
    return id == null || footprint == null || request == null || end == null || domain == null
        ? Optional.empty()
        : Optional.of(new Hold(id, domain.id(), footprint, request, end));
  }

  /** Reads the data of one object. Confined to one thread at a time. */
  private static final class Reading {
    private final String path;
    private final Map<String, String> data;
    private final Problems problems;

    Reading(ConfigMap map, Problems problems) {
      this.path = ObjectRef.of(map).path();
      this.data = map.getData() == null ? Map.of() : map.getData();
      this.problems = problems;
    }

    String path(String key) {
      return path + ".data[" + key + "]";
    }

    void problem(String key, String message) {
      problems.add(path(key), message);
    }

    @Nullable String text(String key) {
      String text = data.get(key);
      if (text == null || text.isEmpty()) {
        problem(key, "expected a value, but it was missing; delete the ConfigMap or set it");
        return null;
      }
      return text;
    }

    @Nullable Shape topology() {
      String text = text(TOPOLOGY);
      try {
        return text == null ? null : SliceManifest.platformForm(Shape.parse(text));
      } catch (InvalidInputException e) {
        problem(TOPOLOGY, e.problems().get(0).message() + "; write one such as 4x4x4");
        return null;
      }
    }

    @Nullable Footprint footprint(Domain domain, Shape topology, Domains domains) {
      String text = data.get(PARTITION_IDS);
      if (text == null || text.isEmpty()) {
        return whole(domain, topology);
      }
      List<String> ids = Arrays.stream(text.split(",", -1)).map(String::trim).toList();
      boolean cubes = SlicePlaces.isWholeCubes(topology);
      long needed = topology.chips() / SlicePlaces.CUBE.chips();
      if (cubes && needed > 1 && ids.size() != needed) {
        problem(
            PARTITION_IDS,
            "expected " + needed + " cubes for " + topology + ", but there were " + ids.size());
        return null;
      }
      SlicePlaces.Found found =
          SlicePlaces.find(
              domains, domain, cubes ? SlicePlaces.CUBE : topology, PARTITION_IDS, ids);
      if (!found.why().isEmpty()) {
        problem(found.field(), found.why());
      }
      return found.footprint();
    }

    private @Nullable Footprint whole(Domain domain, Shape topology) {
      HostFootprints.Found whole =
          domain.isAtomic() ? HostFootprints.whole(domain).orElse(null) : null;
      if (whole == null) {
        problem(PARTITION_IDS, "expected ids of partitions of " + domain.id() + ", but had none");
        return null;
      }
      if (!whole.shape().sorted().equals(topology.sorted())) {
        problem(
            TOPOLOGY,
            "expected " + whole.shape() + " as " + domain.id() + " is, but was " + topology);
        return null;
      }
      return whole.footprint();
    }
  }
}
