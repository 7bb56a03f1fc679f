package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.Comparator;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Names one object of a cluster. Immutable, safe to share.
 *
 * <p>Ordered by kind, namespace and name. {@link #path} is what problems begin with.
 *
 * @param apiVersion such as {@code v1} or {@code jobset.x-k8s.io/v1alpha2}
 * @param kind such as {@code Node}
 * @param namespace empty for objects of the whole cluster
 * @param name its name
 */
public record ObjectRef(String apiVersion, String kind, String namespace, String name)
    implements Comparable<ObjectRef> {

  private static final Comparator<ObjectRef> ORDER =
      Comparator.comparing(ObjectRef::kind)
          .thenComparing(ObjectRef::namespace)
          .thenComparing(ObjectRef::name)
          .thenComparing(ObjectRef::apiVersion);

  /** Checks for null. */
  public ObjectRef {
    Objects.requireNonNull(apiVersion, "apiVersion");
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(name, "name");
  }

  /**
   * The name of an object.
   *
   * @param object any object; what it lacks is taken as empty
   * @return its name
   */
  public static ObjectRef of(HasMetadata object) {
    var metadata = object.getMetadata();
    return new ObjectRef(
        orEmpty(object.getApiVersion()),
        orEmpty(object.getKind()),
        metadata == null ? "" : orEmpty(metadata.getNamespace()),
        metadata == null ? "" : orEmpty(metadata.getName()));
  }

  private static String orEmpty(@Nullable String text) {
    return text == null ? "" : text;
  }

  /**
   * The path of the object in problems and ids.
   *
   * @return kind, namespace (where it has one) and name, such as {@code Job/team-a/train} or {@code
   *     Node/n-7}
   */
  public String path() {
    return namespace.isEmpty() ? kind + "/" + name : kind + "/" + namespace + "/" + name;
  }

  @Override
  public int compareTo(ObjectRef other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return path();
  }
}
