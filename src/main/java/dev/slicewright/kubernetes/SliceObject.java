package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.time.Instant;
import java.util.Comparator;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A Slice as it stands in the cluster, with what of its metadata and status only reading needs.
 * Immutable, safe to share.
 *
 * @param ref its name
 * @param manifest what it says
 * @param created when it was created, if that is known
 * @param readySince since when it is ready, if it is
 * @param message what its condition Ready says in words, perhaps empty
 */
record SliceObject(
    ObjectRef ref,
    SliceManifest manifest,
    @Nullable Instant created,
    @Nullable Instant readySince,
    String message) {

  /** Who keeps chips that two want: what is formed, then the older, then by name. */
  static final Comparator<SliceObject> ORDER =
      Comparator.comparing((SliceObject s) -> !s.isReady())
          .thenComparing(s -> Objects.requireNonNullElse(s.created, Instant.MAX))
          .thenComparing(s -> s.manifest.name())
          .thenComparing(s -> s.ref.apiVersion(), Comparator.reverseOrder())
          .thenComparing(s -> s.manifest.toString());

  static Optional<SliceObject> read(GenericKubernetesResource resource, Problems problems) {
    ObjectRef ref = ObjectRef.of(resource);
    SliceManifest manifest = SliceManifest.of(resource, problems).orElse(null);
    if (manifest == null) {
      return Optional.empty();
    }
    ObjectMeta metadata = resource.getMetadata();
    Instant created =
        Times.read(
            metadata.getCreationTimestamp(), ref.path() + ".metadata.creationTimestamp", problems);
    Instant since = null;
    String message = "";
    // What is wrong with the conditions has been said when the manifest was read.
    for (Generic condition : Generic.read(resource, new Problems()).list("status", "conditions")) {
      if (condition.text("type").orElse("").equals("Ready")) {
        message = condition.text("message").orElse("");
        if (condition.text("status").orElse("").equals("True")) {
          since =
              Times.read(
                  condition.text("lastTransitionTime").orElse(null),
                  condition.get("lastTransitionTime").path(),
                  problems);
        }
        break;
      }
    }
    return Optional.of(new SliceObject(ref, manifest, created, since, message));
  }

  boolean isReady() {
    return manifest.isReady();
  }

  boolean isLeaving() {
    return manifest.deleting() || manifest.state().filter(SliceState::isLeaving).isPresent();
  }
}
