package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Reads what Slices and Kueue Workloads tell of slices lost. */
final class Failures {

  private Failures() {}

  /** By object, then request. */
  static List<SliceFailure.Notice> read(
      KubernetesObjects objects, Collection<SliceObject> slices, Owners owners) {
    List<SliceFailure.Notice> notices = new ArrayList<>();
    for (SliceObject slice : slices) {
      SliceFailure.of(slice.manifest())
          .ifPresent(
              failure ->
                  notices.add(
                      new SliceFailure.Notice(
                          slice.ref(),
                          SliceOwners.named(slice.manifest().annotations(), owners),
                          failure,
                          slice.message())));
    }
    for (HasMetadata object : objects.all()) {
      String version = object.getApiVersion();
      if ("Workload".equals(object.getKind())
          && version != null
          && version.startsWith("kueue.x-k8s.io/")) {
        notices.addAll(ofWorkload(object, owners));
      }
    }
    notices.sort(
        Comparator.comparing(SliceFailure.Notice::object)
            .thenComparing(SliceFailure.Notice::request)
            .thenComparing(SliceFailure.Notice::failure));
    return List.copyOf(notices);
  }

  private static List<SliceFailure.Notice> ofWorkload(HasMetadata workload, Owners owners) {
    // What is wrong with the object is said where its work is read.
    Generic fields = Generic.read(workload, new Problems());
    List<SliceFailure.Notice> notices = new ArrayList<>();
    for (Generic condition : fields.list("status", "conditions")) {
      boolean told =
          condition.text("type").orElse("").equals(SliceFailure.CONDITION)
              && condition.text("status").orElse("").equals("True");
      Optional<SliceFailure> failure =
          told ? SliceFailure.of(condition.text("reason").orElse("")) : Optional.empty();
      if (failure.isPresent()) {
        String message = condition.text("message").orElse("");
        for (String request : requests(workload, fields, owners)) {
          notices.add(
              new SliceFailure.Notice(ObjectRef.of(workload), request, failure.get(), message));
        }
      }
    }
    return notices;
  }

  private static Set<String> requests(HasMetadata workload, Generic fields, Owners owners) {
    ObjectRef ref = ObjectRef.of(workload);
    Set<String> requests = new TreeSet<>();
    for (Generic podSet : fields.list("spec", "podSets")) {
      owners
          .of(ref.namespace(), ref.name(), podSet.text("name").orElse(""))
          .ifPresent(requests::add);
    }
    return requests.isEmpty() ? Set.of("") : requests;
  }
}
