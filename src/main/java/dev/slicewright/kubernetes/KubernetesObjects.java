package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * Objects of a cluster, in the order given, and what was wrong when they were read. Immutable, safe
 * to share. The objects themselves are fabric8's own and mutable: whoever shares these leaves them
 * as they are.
 *
 * <p>Any kind may be in it; {@link ClusterReader} passes over what it does not know.
 */
public final class KubernetesObjects {

  private static final KubernetesObjects EMPTY = new KubernetesObjects(List.of(), List.of());

  private final List<HasMetadata> all;
  private final List<Problem> problems;

  private KubernetesObjects(List<HasMetadata> all, List<Problem> problems) {
    this.all = all;
    this.problems = problems;
  }

  /**
   * No objects.
   *
   * @return an empty collection
   */
  public static KubernetesObjects empty() {
    return EMPTY;
  }

  /**
   * Objects that a client has listed.
   *
   * @param objects any kinds; none null
   * @return them
   */
  public static KubernetesObjects of(Collection<? extends HasMetadata> objects) {
    return new KubernetesObjects(List.copyOf(objects), List.of());
  }

  static KubernetesObjects of(List<HasMetadata> objects, List<Problem> problems) {
    return new KubernetesObjects(List.copyOf(objects), List.copyOf(problems));
  }

  /**
   * These and others.
   *
   * @param others objects that follow
   * @return both, problems included
   */
  public KubernetesObjects plus(KubernetesObjects others) {
    return new KubernetesObjects(joined(all, others.all), joined(problems, others.problems));
  }

  /**
   * These and others.
   *
   * @param others objects that follow
   * @return both
   */
  public KubernetesObjects plus(Collection<? extends HasMetadata> others) {
    return plus(of(others));
  }

  private static <T> List<T> joined(List<T> first, List<T> second) {
    List<T> both = new ArrayList<>(first.size() + second.size());
    both.addAll(first);
    both.addAll(second);
    return List.copyOf(both);
  }

  /**
   * All objects.
   *
   * @return an unmodifiable list, in the order given
   */
  public List<HasMetadata> all() {
    return all;
  }

  /**
   * What was wrong with the text that they were read from; documents that could not be read at all
   * are not among the objects.
   *
   * @return an unmodifiable list, empty if nothing was
   */
  public List<Problem> problems() {
    return problems;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KubernetesObjects o && all.equals(o.all) && problems.equals(o.problems);
  }

  @Override
  public int hashCode() {
    return Objects.hash(all, problems);
  }

  @Override
  public String toString() {
    return all.size() + " objects, " + problems.size() + " problems";
  }
}
