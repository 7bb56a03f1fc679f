package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What came of reading a part of a text in one way. Confined to one thread at a time. */
final class ManifestReading {

  final List<HasMetadata> objects = new ArrayList<>();
  final List<Problem> problems = new ArrayList<>();

  /** Problems beyond those that may be listed. */
  long unlisted;

  /** Documents begun. */
  int documents;

  /** What anchors and aliases have used of their limit. */
  long aliasSize;

  /** Why nothing further can be read, or null. */
  @Nullable ManifestFault fault;

  /** Whether there are more objects than may be read. */
  boolean isFull;

  /**
   * Adds a problem, or counts it where enough are listed.
   *
   * @param path of it
   * @param message what was expected, what was given, what to do
   * @param listedBefore problems listed of the same text
   * @param limits how many may be listed
   */
  void add(String path, String message, int listedBefore, ManifestLimits limits) {
    if (listedBefore + problems.size() < limits.maxProblems()) {
      problems.add(new Problem(path, message));
    } else {
      unlisted++;
    }
  }

  /** Takes over what another reading found after this one; its fault stays with it. */
  void add(ManifestReading next) {
    objects.addAll(next.objects);
    problems.addAll(next.problems);
    unlisted += next.unlisted;
    documents += next.documents;
    aliasSize += next.aliasSize;
    isFull |= next.isFull;
  }
}
