package dev.slicewright.kubernetes;

import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What all workloads of one translation share: the domains, and what was worked out for equal
 * templates and shapes. Confined to one thread at a time.
 */
final class WorkContext {

  /**
   * Whether accelerators can form a shape.
   *
   * @param platform the shape as the platform writes it, if one can
   * @param types the accelerators that can
   * @param reason why none can, if none can
   */
  record Legality(@Nullable Shape platform, List<AcceleratorType> types, String reason) {}

  private record ShapeKey(List<AcceleratorType> types, Shape shape) {}

  private static final List<AcceleratorType> PLATFORM =
      AcceleratorType.known().stream().filter(t -> t.gkeAccelerator().isPresent()).toList();

  private final DomainColumns domains;
  private final TenantBy tenantBy;
  private final Priorities priorities;
  private final List<AcceleratorType> present; // in some domain
  private final Map<String, List<AcceleratorType>> byLabel = new HashMap<>();
  private final Map<AcceleratorType, Set<TpuTopology>> topologies = new HashMap<>(); // here
  private final Map<AcceleratorType, Set<Long>> hostChips = new HashMap<>();
  private final Map<AcceleratorType, TpuTopology> published = new HashMap<>();
  private final Map<ShapeKey, Legality> legality = new HashMap<>();
  private final Map<List<@Nullable Object>, NodeConditions> conditions = new HashMap<>();

  WorkContext(Domains domains, ReadSettings settings, Priorities priorities) {
    this.domains = new DomainColumns(domains.all());
    this.tenantBy = settings.tenantBy();
    this.priorities = priorities;
    Set<AcceleratorType> types = new LinkedHashSet<>();
    for (Domain domain : this.domains.domains()) {
      AcceleratorType type = domain.topology().accelerator();
      types.add(type);
      topologies.computeIfAbsent(type, t -> new LinkedHashSet<>()).add(domain.topology());
      hostChips
          .computeIfAbsent(type, t -> new TreeSet<>())
          .add(domain.topology().hostTile().chips());
      String label = domain.labels().get(TpuLabels.ACCELERATOR);
      if (label != null) {
        List<AcceleratorType> labelled = byLabel.computeIfAbsent(label, l -> new ArrayList<>());
        if (!labelled.contains(type)) {
          labelled.add(type);
        }
      }
    }
    this.present = List.copyOf(types);
  }

  DomainColumns domains() {
    return domains;
  }

  /** The numbers of chips that hosts of an accelerator have here. */
  Set<Long> hostChips(AcceleratorType type) {
    return hostChips.getOrDefault(type, Set.of());
  }

  TenantBy tenantBy() {
    return tenantBy;
  }

  Priorities priorities() {
    return priorities;
  }

  /** The accelerators that a label's value names, in this cluster or on the platform. */
  List<AcceleratorType> accelerators(String label) {
    List<AcceleratorType> known = byLabel.get(label);
    if (known != null) {
      return known;
    }
    return PLATFORM.stream()
        .filter(type -> type.gkeAccelerator().equals(Optional.of(label)))
        .toList();
  }

  /** The accelerators of the cluster; those of the platform if it has none. */
  List<AcceleratorType> accelerators() {
    return present.isEmpty() ? PLATFORM : present;
  }

  /** What a label of an accelerator may be. */
  Set<String> acceleratorLabels() {
    Set<String> labels = new TreeSet<>(byLabel.keySet());
    PLATFORM.forEach(type -> labels.add(type.gkeAccelerator().orElseThrow()));
    return labels;
  }

  /** Which of the accelerators can form a shape, on their published pods or on those here. */
  Legality legality(List<AcceleratorType> types, Shape shape) {
    return legality.computeIfAbsent(new ShapeKey(types, shape), this::judge);
  }

  private Legality judge(ShapeKey key) {
    Shape platform = null;
    List<AcceleratorType> can = new ArrayList<>();
    for (AcceleratorType type : key.types) {
      TpuTopology former = former(type, key.shape);
      if (former != null) {
        platform = platform == null ? former.platformForm(key.shape) : platform;
        can.add(type);
      }
    }
    return new Legality(platform, List.copyOf(can), platform == null ? reason(key) : "");
  }

  /** A pod that can form a shape: of the cluster, else as published. */
  private @Nullable TpuTopology former(AcceleratorType type, Shape shape) {
    for (TpuTopology topology : topologies.getOrDefault(type, Set.of())) {
      if (topology.isLegal(shape)) {
        return topology;
      }
    }
    // Larger pods than the cluster's may come; what none can form never runs.
    TpuTopology published = PLATFORM.contains(type) ? published(type) : null;
    return published != null && published.isLegal(shape) ? published : null;
  }

  private TpuTopology published(AcceleratorType type) {
    return published.computeIfAbsent(type, t -> TpuTopology.builder(t).build());
  }

  private String reason(ShapeKey key) {
    AcceleratorType type = key.types.get(0);
    TpuTopology topology =
        PLATFORM.contains(type)
            ? published(type)
            : topologies.getOrDefault(type, Set.of()).iterator().next();
    List<Shape> near =
        topology.dims().rank() == key.shape.rank()
            ? topology.nearestLegalShapes(key.shape, 2)
            : List.of();
    return topology.whyNotLegal(key.shape).orElse(key.shape + " cannot be formed.")
        + (near.isEmpty()
            ? ""
            : " Near it are " + String.join(" and ", near.stream().map(Shape::toString).toList()));
  }

  /** The conditions of a pod's spec; read once for all specs that say the same about nodes. */
  NodeConditions conditions(Generic spec) {
    @Nullable Object raw = spec.raw();
    List<@Nullable Object> key = new ArrayList<>();
    if (raw instanceof Map<?, ?> fields) {
      key.addAll(
          Arrays.asList(
              fields.get("nodeSelector"), fields.get("affinity"), fields.get("tolerations")));
    } else {
      key.add(raw);
    }
    return conditions.computeIfAbsent(key, k -> NodeConditions.read(raw));
  }
}
