package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a pod template says about nodes (selector, required affinity, tolerations), decided for
 * whole pods of the fleet. Immutable, safe to share.
 *
 * <p>A requirement is decided for a domain if all its nodes agree on it. Equality on a label
 * becomes a required label; whatever else can be decided becomes a list of forbidden domains; what
 * nodes of one domain differ in cannot be asked of a slice and is a problem. Preferred affinity
 * says nothing about where a pod may run and is passed over.
 *
 * <p>Some keys mean more than a label: {@code gke-tpu-topology} is the slice's shape where slices
 * are formed on demand; {@code gke-tpu-slice} is where a workload has been bound, not what it
 * wants; the state of partitions says whether degraded ones will do. Source: Kubernetes'
 * documentation on assigning pods to nodes, and on taints and tolerations; GKE's on dynamic
 * slicing.
 *
 * <p>Problems have paths relative to the pod's spec. Matching is O(requirements × domains).
 */
final class NodeConditions {

  /** Whether the nodes of a domain satisfy something. */
  private enum Verdict {
    NO,
    DIFFERS,
    YES;

    static Verdict of(boolean satisfied) {
      return satisfied ? YES : NO;
    }

    Verdict and(Verdict other) {
      return ordinal() <= other.ordinal() ? this : other;
    }

    Verdict or(Verdict other) {
      return ordinal() >= other.ordinal() ? this : other;
    }
  }

  private record Requirement(
      String field, String key, String operator, List<String> values, Set<String> set) {
    Requirement(String field, String key, String operator, List<String> values) {
      this(field, key, operator, values, Set.copyOf(values));
    }
  }

  /** All expressions and all fields must hold; one without either matches nothing. */
  private record Term(List<Requirement> expressions, List<Requirement> fields) {}

  private record Toleration(String key, String operator, String value, String effect) {

    boolean tolerates(String taintKey, String taintValue, String taintEffect) {
      return (effect.isEmpty() || effect.equals(taintEffect))
          && (operator.equals("Exists")
              ? key.isEmpty() || key.equals(taintKey)
              : operator.equals("Equal") && key.equals(taintKey) && value.equals(taintValue));
    }
  }

  /**
   * What the conditions are matched for.
   *
   * @param accelerators names of the accelerators that will do; empty for any
   * @param shape the slice's shape as the platform writes it
   * @param poolTopology whether the selected topology is a pool's, and the slice a part of it
   * @param chips chips of each pod, which must be those of a host
   * @param withinCube whether slices of more than one cube must come as a pool of their own
   */
  record Slot(
      Set<String> accelerators,
      Shape shape,
      boolean poolTopology,
      long chips,
      boolean withinCube) {}

  /**
   * The pods of the fleet that will do.
   *
   * @param base a request of the slot's shape with what is asked of pods: required labels,
   *     forbidden domains, whether degraded partitions will not do
   * @param possible the domains that will do
   * @param problems what cannot be decided for whole domains
   */
  record Match(SliceRequest base, List<Domain> possible, List<Problem> problems) {}

  private static final int MAX_LABEL = 63;
  private static final int MAX_NAMES = 3;
  private static final String HEALTHY = "HEALTHY";
  private static final String DEGRADED = "DEGRADED";
  private static final String NODE_NAME = "metadata.name";

  private final List<Requirement> selector;
  private final @Nullable List<Term> terms;
  private final List<Toleration> tolerations;
  private final Map<String, String> equal;
  private final List<Problem> problems;
  private final boolean healthyOnly;
  private final boolean healthDiffers; // between alternatives
  private final Map<Slot, Match> matches = new HashMap<>();

  private NodeConditions(
      List<Requirement> selector,
      @Nullable List<Term> terms,
      List<Toleration> tolerations,
      List<Problem> problems) {
    this.selector = selector;
    this.terms = terms;
    this.tolerations = tolerations;
    this.problems = problems;
    this.equal = equalities(selector, terms);
    boolean always = selector.stream().anyMatch(NodeConditions::refusesDegraded);
    long strict =
        terms == null
            ? 0
            : terms.stream()
                .filter(t -> t.expressions.stream().anyMatch(NodeConditions::refusesDegraded))
                .count();
    this.healthyOnly = always || terms != null && !terms.isEmpty() && strict == terms.size();
    this.healthDiffers = !healthyOnly && strict > 0;
  }

  // ---------------------------------------------------------------- reading

  /** Reads the spec of a pod. */
  static NodeConditions read(@Nullable Object spec) {
    Problems found = new Problems();
    Generic pod = Generic.read("", spec, found);
    List<Requirement> selector = new ArrayList<>();
    Generic labels = pod.get("nodeSelector");
    labels
        .texts()
        .forEach(
            (key, value) -> {
              Generic label = labels.get(key);
              if (value.length() > MAX_LABEL) {
                label.problem(
                    "expected at most 63 characters, as labels have, but had "
                        + value.length()
                        + "; no node can match it");
              }
              selector.add(new Requirement(label.path(), key, "In", List.of(value)));
            });
    Generic affinity =
        pod.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution");
    List<Term> terms = affinity.isPresent() ? terms(affinity) : null;
    List<Toleration> tolerations = new ArrayList<>();
    for (Generic toleration : pod.list("tolerations")) {
      tolerations.add(
          new Toleration(
              toleration.text("key").orElse(""),
              toleration.text("operator").filter(text -> !text.isEmpty()).orElse("Equal"),
              toleration.text("value").orElse(""),
              toleration.text("effect").orElse("")));
    }
    return new NodeConditions(List.copyOf(selector), terms, List.copyOf(tolerations), found.list());
  }

  private static List<Term> terms(Generic affinity) {
    List<Term> terms = new ArrayList<>();
    Generic list = affinity.get("nodeSelectorTerms");
    if (!list.isPresent()) {
      list.problem("a list of terms", "write terms, or drop the affinity");
    }
    for (Generic term : list.list()) {
      List<Requirement> expressions = new ArrayList<>();
      for (Generic expression : term.list("matchExpressions")) {
        requirement(expression, false, expressions);
      }
      List<Requirement> fields = new ArrayList<>();
      for (Generic field : term.list("matchFields")) {
        requirement(field, true, fields);
      }
      terms.add(new Term(List.copyOf(expressions), List.copyOf(fields)));
    }
    return List.copyOf(terms);
  }

  private static void requirement(Generic given, boolean ofField, List<Requirement> into) {
    String key = given.text("key").orElse("");
    String operator = given.text("operator").orElse("");
    List<String> values = given.textList("values");
    if (key.isEmpty()) {
      given.get("key").problem("the key of a label", "name one");
    } else if (ofField && !key.equals(NODE_NAME)) {
      given.get("key").problem("the field " + NODE_NAME, "there is no other");
    }
    boolean sound =
        switch (operator) {
          case "In", "NotIn" -> !values.isEmpty() && (!ofField || values.size() == 1);
          case "Exists", "DoesNotExist" -> values.isEmpty() && !ofField;
          case "Gt", "Lt" -> values.size() == 1 && whole(values.get(0)) != null && !ofField;
          default -> false;
        };
    if (!sound) {
      given.problem(
          ofField
              ? "expected In or NotIn with one value, but was "
                  + operator
                  + " "
                  + values
                  + "; write one of them"
              : "expected In or NotIn with values, Exists or DoesNotExist without, or Gt or Lt with"
                  + " one whole number, but was "
                  + operator
                  + " "
                  + values
                  + "; write one of them");
    }
    into.add(new Requirement(given.path(), key, operator, values));
  }

  private static @Nullable Long whole(String text) {
    try {
      return Long.valueOf(text);
    } catch (NumberFormatException e) {
      return null;
    }
  }

  /** Labels that must have one value, whatever alternative is taken. */
  private static Map<String, String> equalities(
      List<Requirement> selector, @Nullable List<Term> terms) {
    Map<String, String> equal = new TreeMap<>();
    List<Requirement> sure = new ArrayList<>(selector);
    if (terms != null && terms.size() == 1) {
      sure.addAll(terms.get(0).expressions);
    }
    for (Requirement requirement : sure) {
      if (requirement.operator.equals("In") && requirement.values.size() == 1) {
        equal.putIfAbsent(requirement.key, requirement.values.get(0));
      }
    }
    return equal;
  }

  /** What is wrong with them, wherever they are matched. */
  List<Problem> problems() {
    return problems;
  }

  /** Labels that a node must have with one value; of two values asked for, the selector's. */
  Map<String, String> equal() {
    return equal;
  }

  /** The Slices that a node must be of one of, in the order given; empty if it may be of any. */
  List<String> slices() {
    List<String> selected = slices(selector);
    if (!selected.isEmpty() || terms == null) {
      return selected;
    }
    Set<String> either = new LinkedHashSet<>();
    for (Term term : terms) {
      List<String> named = slices(term.expressions);
      if (named.isEmpty()) {
        return List.of();
      }
      either.addAll(named);
    }
    return List.copyOf(either);
  }

  private static List<String> slices(List<Requirement> requirements) {
    return requirements.stream()
        .filter(r -> r.key.equals(TpuLabels.SLICE) && r.operator.equals("In"))
        .findFirst()
        .map(r -> r.values.stream().distinct().toList())
        .orElse(List.of());
  }

  // ---------------------------------------------------------------- matching

  /** A domain, and where its labels are. */
  private record Candidate(Domain domain, int number, DomainColumns columns) {

    @Nullable String value(String key) {
      return columns.value(key, number);
    }

    boolean hasAll(Map<String, String> labels) {
      for (Map.Entry<String, String> label : labels.entrySet()) {
        if (!label.getValue().equals(value(label.getKey()))) {
          return false;
        }
      }
      return true;
    }
  }

  /** The domains that will do; remembered, so that equal templates share the work. */
  Match match(DomainColumns domains, Slot slot) {
    return matches.computeIfAbsent(slot, s -> compute(domains, s));
  }

  /** The same conditions but for what they say of a label. */
  NodeConditions without(String key) {
    List<Term> rest = terms == null ? null : terms.stream().map(t -> without(t, key)).toList();
    if (rest != null
        && rest.stream().anyMatch(t -> t.expressions.isEmpty() && t.fields.isEmpty())) {
      rest = null; // one alternative asks for nothing else
    }
    return new NodeConditions(without(selector, key), rest, tolerations, problems);
  }

  private static Term without(Term term, String key) {
    return new Term(without(term.expressions, key), term.fields);
  }

  private static List<Requirement> without(List<Requirement> requirements, String key) {
    return requirements.stream().filter(requirement -> !requirement.key.equals(key)).toList();
  }

  private Match compute(DomainColumns all, Slot slot) {
    List<Candidate> candidates = new ArrayList<>();
    for (int i : all.of(slot.accelerators)) {
      candidates.add(new Candidate(all.domains().get(i), i, all));
    }
    Map<String, String> required = required(candidates, slot);
    List<String> forbidden = new ArrayList<>();
    List<Domain> possible = new ArrayList<>();
    Map<Requirement, List<Domain>> undecided = new LinkedHashMap<>();
    for (Candidate candidate : candidates) {
      Domain domain = candidate.domain;
      Verdict verdict = verdict(candidate, slot);
      if (verdict == Verdict.YES) {
        possible.add(domain);
      } else if (verdict == Verdict.DIFFERS) {
        for (Requirement requirement : differing(candidate, slot)) {
          undecided.computeIfAbsent(requirement, r -> new ArrayList<>()).add(domain);
        }
      } else if (candidate.hasAll(required)) {
        forbidden.add(domain.id());
      }
    }
    List<Problem> found = new ArrayList<>();
    undecided.forEach((requirement, differ) -> found.add(undecided(requirement, differ)));
    SliceRequest.Builder base =
        SliceRequest.builder("conditions")
            .shape(slot.shape)
            .forbidLabels(TpuLabels.OWN_POD, forbidden)
            .healthyOnly(healthyOnly);
    required.forEach(base::requireLabel);
    return new Match(base.build(), List.copyOf(possible), List.copyOf(found));
  }

  /**
   * Labels that pods must have: of those asked for with one value, those that are labels of pods.
   */
  private Map<String, String> required(List<Candidate> candidates, Slot slot) {
    // Pods whose slices bring their topology with them do not have it as a label.
    boolean ofPools =
        slot.poolTopology
            || equal.containsKey(TpuLabels.TOPOLOGY)
                && candidates.stream()
                    .allMatch(
                        candidate ->
                            candidate.domain.kind() != Domain.Kind.DYNAMIC
                                && isOne(candidate.value(TpuLabels.TOPOLOGY)));
    Map<String, String> required = new TreeMap<>();
    equal.forEach(
        (key, value) -> {
          if (isPlain(key)
              || (key.equals(TpuLabels.TOPOLOGY) && ofPools && !candidates.isEmpty())) {
            required.put(key, value);
          }
        });
    return required;
  }

  private static Problem undecided(Requirement requirement, List<Domain> differ) {
    List<String> odd =
        differ.stream().flatMap(domain -> domain.odd(requirement.key).stream()).toList();
    return new Problem(
        requirement.field,
        "expected a label on which the nodes of each pod agree, but the nodes of "
            + differ.get(0).id()
            + (differ.size() > 1 ? " and of " + (differ.size() - 1) + " more" : "")
            + " differ in "
            + requirement.key
            + (odd.isEmpty() ? "" : " (" + some(odd) + " from most)")
            + ", and which of them a slice takes is for the plan to say; select by "
            + TpuLabels.BLOCK
            + ", by a node pool that is one slice, or by a label of all nodes of a pod");
  }

  private static String some(List<String> names) {
    return names.size() <= MAX_NAMES
        ? String.join(", ", names)
        : String.join(", ", names.subList(0, MAX_NAMES))
            + " and "
            + (names.size() - MAX_NAMES)
            + " more";
  }

  /** Labels that mean nothing but themselves. */
  private static boolean isPlain(String key) {
    return !key.equals(TpuLabels.SLICE)
        && !key.equals(TpuLabels.TOPOLOGY)
        && !key.equals(TpuLabels.ACCELERATOR)
        && !isPartition(key);
  }

  private static boolean isPartition(String key) {
    return (key.startsWith(TpuLabels.PARTITION_PREFIX) || key.startsWith(TpuLabels.SUBSLICE_PREFIX))
        && (key.endsWith(TpuLabels.ID_SUFFIX) || key.endsWith(TpuLabels.STATE_SUFFIX));
  }

  private Verdict verdict(Candidate candidate, Slot slot) {
    Domain domain = candidate.domain;
    boolean fits =
        domain.topology().hostTile().chips() == slot.chips
            && isTolerated(domain)
            && !(slot.withinCube
                && domain.kind() == Domain.Kind.DYNAMIC
                && slot.shape.chips() > SlicePlaces.CUBE.chips());
    return fits ? all(selector, candidate, slot).and(anyTerm(candidate, slot)) : Verdict.NO;
  }

  private boolean isTolerated(Domain domain) {
    for (Taint taint : domain.taints()) {
      String effect = text(taint.getEffect());
      boolean repels = effect.equals("NoSchedule") || effect.equals("NoExecute");
      String key = text(taint.getKey());
      String value = text(taint.getValue());
      if (repels && tolerations.stream().noneMatch(t -> t.tolerates(key, value, effect))) {
        return false;
      }
    }
    return true;
  }

  private static String text(@Nullable String given) {
    return given == null ? "" : given;
  }

  private Verdict all(List<Requirement> requirements, Candidate candidate, Slot slot) {
    Verdict verdict = Verdict.YES;
    for (Requirement requirement : requirements) {
      verdict = verdict.and(test(requirement, candidate, slot));
    }
    return verdict;
  }

  private Verdict anyTerm(Candidate candidate, Slot slot) {
    if (terms == null) {
      return Verdict.YES;
    }
    Verdict verdict = Verdict.NO;
    for (Term term : terms) {
      verdict = verdict.or(test(term, candidate, slot));
    }
    return verdict;
  }

  private Verdict test(Term term, Candidate candidate, Slot slot) {
    if (term.expressions.isEmpty() && term.fields.isEmpty()) {
      return Verdict.NO;
    }
    Verdict verdict = all(term.expressions, candidate, slot);
    for (Requirement field : term.fields) {
      verdict = verdict.and(testName(field, candidate.domain));
    }
    return verdict;
  }

  /** The requirements that keep a domain from being decided. */
  private List<Requirement> differing(Candidate candidate, Slot slot) {
    List<Requirement> differing = new ArrayList<>();
    for (Requirement requirement : selector) {
      if (test(requirement, candidate, slot) == Verdict.DIFFERS) {
        differing.add(requirement);
      }
    }
    for (Term term : terms == null ? List.<Term>of() : terms) {
      if (anyTerm(candidate, slot) == Verdict.DIFFERS
          && test(term, candidate, slot) == Verdict.DIFFERS) {
        for (Requirement requirement : term.expressions) {
          if (test(requirement, candidate, slot) == Verdict.DIFFERS) {
            differing.add(requirement);
          }
        }
        for (Requirement field : term.fields) {
          if (testName(field, candidate.domain) == Verdict.DIFFERS) {
            differing.add(field);
          }
        }
      }
    }
    return differing;
  }

  private Verdict test(Requirement requirement, Candidate candidate, Slot slot) {
    String key = requirement.key;
    Domain domain = candidate.domain;
    if (key.equals(TpuLabels.SLICE)) {
      return Verdict.YES;
    }
    if (key.equals(TpuLabels.TOPOLOGY)) {
      return testTopology(requirement, candidate, slot);
    }
    if (isPartition(key)) {
      return testPartition(requirement, domain);
    }
    String value = candidate.value(key);
    return isDiffering(value) ? Verdict.DIFFERS : Verdict.of(holds(requirement, value));
  }

  private static boolean isOne(@Nullable String value) {
    return value != null && !isDiffering(value);
  }

  @SuppressWarnings("ReferenceEquality") // it is no value of a label
  private static boolean isDiffering(@Nullable String value) {
    return value == DomainColumns.DIFFERS;
  }

  private static Verdict testTopology(Requirement requirement, Candidate candidate, Slot slot) {
    Domain domain = candidate.domain;
    String value = candidate.value(TpuLabels.TOPOLOGY);
    boolean differs = isDiffering(value);
    String label = differs ? null : value;
    if (domain.kind() == Domain.Kind.DYNAMIC || label == null) {
      // Nodes get the label of the slice that they become part of.
      if (label == null && domain.kind() != Domain.Kind.DYNAMIC && differs) {
        return Verdict.DIFFERS;
      }
      label = slot.shape.toString();
    }
    return Verdict.of(holds(requirement, label));
  }

  private Verdict testPartition(Requirement requirement, Domain domain) {
    String key = requirement.key;
    boolean ofState = key.endsWith(TpuLabels.STATE_SUFFIX);
    String suffix = ofState ? TpuLabels.STATE_SUFFIX : TpuLabels.ID_SUFFIX;
    String prefix =
        key.startsWith(TpuLabels.PARTITION_PREFIX)
            ? TpuLabels.PARTITION_PREFIX
            : TpuLabels.SUBSLICE_PREFIX;
    if (!hasPartitions(domain, key, prefix, suffix)) {
      return Verdict.of(holds(requirement, null));
    }
    if (!ofState) {
      return switch (requirement.operator) {
        case "Exists" -> Verdict.YES;
        case "DoesNotExist" -> Verdict.NO;
        default -> Verdict.DIFFERS;
      };
    }
    if (!holds(requirement, HEALTHY)) {
      // Sick partitions alone, or none: nothing that a plan would give.
      return holds(requirement, DEGRADED) ? Verdict.DIFFERS : Verdict.NO;
    }
    return refusesDegraded(requirement) && healthDiffers ? Verdict.DIFFERS : Verdict.YES;
  }

  private static boolean refusesDegraded(Requirement requirement) {
    return isPartition(requirement.key)
        && requirement.key.endsWith(TpuLabels.STATE_SUFFIX)
        && holds(requirement, HEALTHY)
        && !holds(requirement, DEGRADED);
  }

  private static boolean hasPartitions(Domain domain, String key, String prefix, String suffix) {
    if (key.length() <= prefix.length() + suffix.length()) {
      return false;
    }
    Shape shape;
    try {
      shape = Shape.parse(key.substring(prefix.length(), key.length() - suffix.length()));
    } catch (InvalidInputException e) {
      return false;
    }
    return domain
        .topology()
        .partitions()
        .filter(forest -> !forest.ofShape(shape).isEmpty())
        .map(forest -> domain.idLabel(shape).startsWith(prefix))
        .orElse(false);
  }

  /** Whether a node with this value of the label (null: without it) satisfies a requirement. */
  private static boolean holds(Requirement requirement, @Nullable String label) {
    return switch (requirement.operator) {
      case "In" -> label != null && requirement.set.contains(label);
      case "NotIn" -> label == null || !requirement.set.contains(label);
      case "Exists" -> label != null;
      case "DoesNotExist" -> label == null;
      case "Gt", "Lt" -> label != null && compares(requirement, label);
      default -> false;
    };
  }

  private static boolean compares(Requirement requirement, String label) {
    Long has = whole(label);
    Long bound = requirement.values.isEmpty() ? null : whole(requirement.values.get(0));
    return has != null
        && bound != null
        && (requirement.operator.equals("Gt") ? has > bound : has < bound);
  }

  private static Verdict testName(Requirement field, Domain domain) {
    boolean in = field.operator.equals("In");
    boolean known = domain.nodes().containsAll(field.values);
    if (!known) {
      return Verdict.of(!in);
    }
    return domain.nodes().size() > 1 ? Verdict.DIFFERS : Verdict.of(in);
  }
}
