package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Cluster} keeps of its objects, and how one is made of them: nodes become domains,
 * work becomes requests, Slices and pods become running slices, and all of it a fleet. Immutable,
 * safe to share.
 *
 * <p>Reading is an update of nothing. An update goes as far through these steps as its changes
 * reach: what a step is given decides what it gives, so where that stays the same, so does the
 * rest.
 */
final class ClusterState {

  private static final String NODE = "Node";
  private static final Comparator<Problem> BY_PATH =
      Comparator.comparing(Problem::path).thenComparing(Problem::message);
  private static final Comparator<LeftOut> BY_OBJECT =
      Comparator.comparing(LeftOut::object).thenComparing(LeftOut::reason);

  /** What work there is, and what was wrong with it. */
  private record Wanted(
      WorkloadTranslator.Translation translation, List<Problem> problems, List<LeftOut> leftOut) {}

  /** What of the work runs, and what was wrong with that. */
  private record Work(
      Wanted wanted, RunningSlices.Found found, List<Problem> problems, List<LeftOut> leftOut) {

    WorkloadTranslator.Translation translation() {
      return wanted.translation();
    }

    List<Problem> allProblems() {
      return Stream.concat(wanted.problems().stream(), problems.stream()).toList();
    }

    List<LeftOut> allLeftOut() {
      return Stream.concat(wanted.leftOut().stream(), leftOut.stream()).toList();
    }
  }

  private final ReadSettings settings;
  private final List<Problem> textProblems;
  private final Map<ObjectRef, Problem> doubles;
  private final Map<ObjectRef, HasMetadata> objects; // copies of all but nodes
  private final NodeDomains domains;
  private final @Nullable Work work; // null before anything is read

  private ClusterState(
      ReadSettings settings,
      List<Problem> textProblems,
      Map<ObjectRef, Problem> doubles,
      Map<ObjectRef, HasMetadata> objects,
      NodeDomains domains,
      @Nullable Work work) {
    this.settings = settings;
    this.textProblems = textProblems;
    this.doubles = doubles;
    this.objects = objects;
    this.domains = domains;
    this.work = work;
  }

  static ClusterState empty(ReadSettings settings) {
    return new ClusterState(settings, List.of(), Map.of(), Map.of(), NodeDomains.none(), null);
  }

  Cluster read(KubernetesObjects given) {
    Changes changes = new Changes();
    Set<ObjectRef> seen = new HashSet<>();
    for (HasMetadata object : given.all()) {
      ObjectRef key = key(object);
      if (!seen.add(key)) {
        changes.addDouble(key);
      }
      changes.put(key, object);
    }
    return changes.apply(given.problems(), null);
  }

  Cluster update(
      Cluster before, Collection<? extends HasMetadata> changed, Collection<ObjectRef> gone) {
    Changes changes = new Changes();
    for (ObjectRef ref : gone) {
      changes.remove(key(ref));
    }
    for (HasMetadata object : changed) {
      changes.put(key(object), object);
    }
    return changes.apply(textProblems, before);
  }

  /** One object has one key, in whatever version of its API it comes. */
  private static ObjectRef key(HasMetadata object) {
    ObjectRef ref = ObjectRef.of(object);
    return object instanceof Node
        ? NodeFacts.ref(ref.name())
        : key(
            object instanceof Pod
                ? new ObjectRef("", "Pod", ref.namespace(), ref.name())
                : object instanceof ConfigMap
                    ? new ObjectRef("", "ConfigMap", ref.namespace(), ref.name())
                    : ref);
  }

  private static ObjectRef key(ObjectRef ref) {
    if (ref.kind().equals(NODE) && !ref.apiVersion().contains("/")) {
      return NodeFacts.ref(ref.name());
    }
    int slash = ref.apiVersion().indexOf('/');
    return new ObjectRef(
        slash < 0 ? "" : ref.apiVersion().substring(0, slash),
        ref.kind(),
        ref.namespace(),
        ref.name());
  }

  /** Changes while they are gathered. Confined to one thread at a time. */
  private final class Changes {
    private final NodeFacts.Reader reader = new NodeFacts.Reader();
    private final Map<String, NodeFacts> nodes = new HashMap<>(domains.nodes());
    private final Set<String> touchedNodes = new LinkedHashSet<>();
    private final Map<ObjectRef, HasMetadata> put = new TreeMap<>();
    private final Set<ObjectRef> removed = new TreeSet<>();
    private final Map<ObjectRef, Problem> newDoubles = new TreeMap<>(doubles);
    private boolean sliceLabels;

    void addDouble(ObjectRef key) {
      newDoubles.put(
          key,
          new Problem(
              key.path(), "expected each object once, but it is listed twice; the later is taken"));
    }

    void put(ObjectRef key, HasMetadata object) {
      if (!key.kind().equals(NODE) || !key.apiVersion().equals("v1")) {
        ObjectCopies.of(object)
            .ifPresentOrElse(
                copy -> {
                  put.put(key, copy);
                  removed.remove(key);
                },
                () -> remove(key));
        return;
      }
      NodeFacts facts = null;
      if (ObjectCopies.typed(object) instanceof Node node) {
        facts = reader.read(node).orElse(null);
      } else {
        facts = NodeFacts.unreadable(key.name());
      }
      change(key.name(), facts);
    }

    void remove(ObjectRef key) {
      if (key.kind().equals(NODE) && key.apiVersion().equals("v1")) {
        change(key.name(), null);
      } else {
        put.remove(key);
        removed.add(key);
      }
    }

    private void change(String name, @Nullable NodeFacts after) {
      NodeFacts before = after == null ? nodes.remove(name) : nodes.put(name, after);
      if (!Objects.equals(before, after)) {
        touchedNodes.add(name);
        boolean taken = before != null && !before.slice().isEmpty();
        sliceLabels |= after == null ? taken : !after.isTakenAs(before);
      }
    }

    Cluster apply(List<Problem> text, @Nullable Cluster before) {
      if (before != null) {
        touchedNodes.forEach(name -> newDoubles.remove(NodeFacts.ref(name)));
        put.keySet().forEach(newDoubles::remove);
        removed.forEach(newDoubles::remove);
      }
      NodeDomains newDomains =
          touchedNodes.isEmpty() ? domains : domains.update(nodes, touchedNodes);
      Map<ObjectRef, HasMetadata> newObjects = objects();
      boolean alike = before != null && isAlike(domains, newDomains);
      Work newWork = work(newObjects, newDomains, alike);
      ClusterState state =
          new ClusterState(settings, text, newDoubles, newObjects, newDomains, newWork);
      List<Problem> problems = state.problems();
      if (!settings.lenient() && !problems.isEmpty()) {
        throw new InvalidInputException("cluster", problems);
      }
      Fleet fleet =
          before != null && alike && work != null
              ? ClusterFleet.refreshed(
                  before.fleet(), domains, newDomains, work.found(), newWork.found())
              : ClusterFleet.of(
                  newDomains, newWork.found(), before == null ? 0 : before.fleet().version() + 1);
      if (before != null && work == newWork) {
        return before.with(fleet, newDomains, problems, state.leftOut(), state);
      }
      return new Cluster(
          fleet,
          newWork.found().workloads(),
          newWork.found().slices(),
          newWork.found().missing(),
          newDomains,
          problems,
          state.leftOut(),
          state);
    }

    /** The objects afterwards; the very same where none changes. */
    private Map<ObjectRef, HasMetadata> objects() {
      boolean known = removed.stream().noneMatch(objects::containsKey);
      if (known && put.entrySet().stream().allMatch(e -> isSame(e.getKey(), e.getValue()))) {
        return objects;
      }
      Map<ObjectRef, HasMetadata> after = new TreeMap<>(objects);
      removed.forEach(after::remove);
      after.putAll(put);
      return after;
    }

    private boolean isSame(ObjectRef key, HasMetadata copy) {
      return copy.equals(objects.get(key));
    }

    /** What work there is and what runs; the very same where nothing that decides it changes. */
    private Work work(
        Map<ObjectRef, HasMetadata> newObjects, NodeDomains newDomains, boolean alike) {
      Work known = alike ? work : null;
      if (known != null && newObjects == objects && !sliceLabels) {
        return known;
      }
      List<HasMetadata> all = new ArrayList<>(newObjects.values());
      for (String name : new TreeSet<>(nodes.keySet())) {
        NodeFacts node = Objects.requireNonNull(nodes.get(name));
        if (!node.slice().isEmpty()) {
          all.add(node.sliceLabels());
        }
      }
      KubernetesObjects given = KubernetesObjects.of(all);
      Wanted wanted =
          known != null && onlySlicesChange() ? known.wanted() : translate(given, newDomains);
      Problems problems = new Problems();
      List<LeftOut> leftOut = new ArrayList<>();
      RunningSlices.Found found =
          RunningSlices.find(given, newDomains, wanted.translation(), settings, problems, leftOut);
      return new Work(wanted, found, problems.list(), List.copyOf(leftOut));
    }

    private Wanted translate(KubernetesObjects given, NodeDomains newDomains) {
      Problems problems = new Problems();
      List<LeftOut> leftOut = new ArrayList<>();
      WorkloadTranslator.Translation translation =
          WorkloadTranslator.translate(given, newDomains, settings, problems, leftOut);
      return new Wanted(translation, problems.list(), List.copyOf(leftOut));
    }

    /** Slices and holds decide what runs, but not what is wanted. */
    private boolean onlySlicesChange() {
      return Stream.concat(put.keySet().stream(), removed.stream())
          .map(ObjectRef::kind)
          .allMatch(kind -> kind.equals(SliceManifest.KIND) || kind.equals("ConfigMap"));
    }
  }

  /** Whether the same work would go to the same places, whatever their health. */
  private static boolean isAlike(NodeDomains before, NodeDomains after) {
    if (before == after) {
      return true;
    }
    if (!before.byId().keySet().equals(after.byId().keySet())) {
      return false;
    }
    for (Map.Entry<String, NodeDomain> entry : after.byId().entrySet()) {
      NodeDomain other = Objects.requireNonNull(before.get(entry.getKey()));
      if (entry.getValue() != other && !entry.getValue().isAlike(other)) {
        return false;
      }
    }
    return true;
  }

  /** What runs and what is held; empty before anything is read. */
  Optional<RunningSlices.Found> found() {
    return Optional.ofNullable(work).map(Work::found);
  }

  // ---------------------------------------------------------------- problems

  /** Everything wrong, by path, each once; so many at most as {@link Problems} keeps. */
  private List<Problem> problems() {
    Set<Problem> all = new TreeSet<>(BY_PATH);
    all.addAll(textProblems);
    all.addAll(doubles.values());
    all.addAll(domains.problems());
    if (work != null) {
      all.addAll(work.allProblems());
    }
    if (all.isEmpty()) {
      return List.of();
    }
    Problems kept = new Problems();
    all.forEach(problem -> kept.add(problem.path(), problem.message()));
    return kept.list();
  }

  private List<LeftOut> leftOut() {
    Set<LeftOut> all = new TreeSet<>(BY_OBJECT);
    all.addAll(domains.leftOut());
    if (work != null) {
      all.addAll(work.allLeftOut());
    }
    return all.isEmpty() ? List.of() : List.copyOf(all);
  }
}
