package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * Reads YAML and JSON streams of Kubernetes objects: many documents, lists included. Immutable,
 * safe to share.
 *
 * <p><b>What is read.</b> YAML documents after {@code ---}; JSON values one after the other; lists
 * of any kind that ends in {@code List} and has {@code items}, also within each other; bare lists.
 * Items of a typed list need no type of their own: those of a {@code NodeList} are Nodes. Plain
 * scalars mean what they mean to {@code kubectl}, so {@code yes} is a boolean; anchors, aliases and
 * merge keys ({@code <<}) work. Bytes are UTF-8, or UTF-16 or UTF-32 with a byte order mark. Empty
 * documents are passed over.
 *
 * <p><b>What comes of it.</b> Nodes, Pods and ConfigMaps of {@code v1} and Jobs of {@code batch/v1}
 * become fabric8's classes; everything else, other versions of these kinds included, becomes a
 * {@link io.fabric8.kubernetes.api.model.GenericKubernetesResource}.
 *
 * <p><b>What is wrong</b> becomes {@linkplain KubernetesObjects#problems problems}; nothing is
 * thrown for bad text. An object with a problem is left out, the others are read; a document that
 * is broken as a text ends at its first error, but the items of a list before that are read, and so
 * is the next document. One kind of problem leaves nothing out: a number or boolean where a string
 * belongs, such as the label {@code a: 5}. The API server refuses it; here it is read as the text
 * written.
 *
 * <p>The path of a problem begins with kind, namespace and name of the object, as {@link
 * ObjectRef#path} gives them, or with its place in the text if it has no kind or name: {@code
 * document[3]}, {@code document[0].items[12]}, {@code document[0][12]} in a bare list, all counted
 * from 0, empty documents and each value of a JSON stream included. Messages about such places give
 * the line, counted from 1. The path of a problem with the whole text is {@code text}.
 *
 * <p><b>Limits</b> ({@link Builder}) keep time and memory linear in what is allowed: the text is
 * kept in memory once or twice (twice while bytes are decoded), and the objects; the items of a
 * list are converted one by one. The defaults take 10,000 nodes and 30,000 pods as {@code kubectl
 * get -o yaml} writes them, which are some 14 and 8 kB each, 380 MB in all, with images, conditions
 * and managed fields.
 */
public final class ManifestReader {

  private static final ManifestReader DEFAULT = new ManifestReader(ManifestLimits.DEFAULTS);

  private final ManifestLimits limits;

  private ManifestReader(ManifestLimits limits) {
    this.limits = limits;
  }

  /**
   * A reader with the default limits.
   *
   * @return the reader
   */
  public static ManifestReader create() {
    return DEFAULT;
  }

  /**
   * A reader with other limits.
   *
   * @return a builder with the default limits
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Reads a text.
   *
   * @param text YAML or JSON
   * @return its objects and problems, both in the order of the text
   */
  public KubernetesObjects read(String text) {
    Objects.requireNonNull(text, "text");
    return text.length() > limits.maxBytes() ? tooLong() : new ManifestSession(limits, text).read();
  }

  /**
   * Reads bytes.
   *
   * @param bytes YAML or JSON
   * @return its objects and problems, both in the order of the text
   */
  public KubernetesObjects read(byte[] bytes) {
    Objects.requireNonNull(bytes, "bytes");
    return bytes.length > limits.maxBytes()
        ? tooLong()
        : new ManifestSession(limits, ManifestText.decode(bytes)).read();
  }

  /**
   * Reads a stream to its end or to one byte more than allowed, and does not close it.
   *
   * @param in YAML or JSON
   * @return its objects and problems, both in the order of the text
   * @throws IOException if the stream throws it
   */
  public KubernetesObjects read(InputStream in) throws IOException {
    Objects.requireNonNull(in, "in");
    return read(in.readNBytes(limits.maxBytes() + 1));
  }

  /**
   * Reads a file.
   *
   * @param file YAML or JSON
   * @return its objects and problems, both in the order of the text
   * @throws IOException if the file cannot be read
   */
  public KubernetesObjects read(Path file) throws IOException {
    Objects.requireNonNull(file, "file");
    if (Files.size(file) > limits.maxBytes()) {
      return tooLong();
    }
    try (InputStream in = Files.newInputStream(file)) {
      return read(in);
    }
  }

  private KubernetesObjects tooLong() {
    String message =
        "expected at most "
            + limits.maxBytes()
            + " bytes, got more; nothing is read; raise maxBytes or split the text";
    return KubernetesObjects.of(List.of(), List.of(new Problem("text", message)));
  }

  @Override
  public String toString() {
    return "ManifestReader[" + limits + "]";
  }

  /** Builds a {@link ManifestReader}. Confined to one thread at a time. */
  public static final class Builder {

    // Arrays end a little before the largest integer.
    private static final int LARGEST = Integer.MAX_VALUE - 64;
    private static final int DEEPEST = 500;

    private int maxBytes = ManifestLimits.DEFAULTS.maxBytes();
    private int maxDepth = ManifestLimits.DEFAULTS.maxDepth();
    private int maxObjectSize = ManifestLimits.DEFAULTS.maxObjectSize();
    private int maxAliasSize = ManifestLimits.DEFAULTS.maxAliasSize();
    private int maxObjects = ManifestLimits.DEFAULTS.maxObjects();
    private int maxProblems = ManifestLimits.DEFAULTS.maxProblems();

    private Builder() {}

    /**
     * Bytes of a text, or characters if it is given as a string: 512 MiB (536,870,912) by default.
     * A longer text is one problem, and a stream is read no further.
     *
     * @param value 1 to 2,147,483,583
     * @return this
     */
    public Builder maxBytes(int value) {
      maxBytes = value;
      return this;
    }

    /**
     * Mappings and lists within each other: 100 by default. No object of Kubernetes needs 40. A
     * document that nests deeper ends there.
     *
     * @param value 1 to 500
     * @return this
     */
    public Builder maxDepth(int value) {
      maxDepth = value;
      return this;
    }

    /**
     * Fields plus characters of one object, what its aliases stand for included; also the length of
     * one scalar or comment: 4,194,304 by default, more than the 3 MiB that the API server takes. A
     * larger object is left out.
     *
     * @param value 1 to 2,147,483,583
     * @return this
     */
    public Builder maxObjectSize(int value) {
      maxObjectSize = value;
      return this;
    }

    /**
     * Fields plus characters that all anchors of a text keep (their names, and 16 for each,
     * included) and all its aliases stand for: 16,777,216 by default. Objects whose aliases go
     * beyond it are left out. It counts for nothing in texts without anchors.
     *
     * @param value 0 to 2,147,483,583
     * @return this
     */
    public Builder maxAliasSize(int value) {
      maxAliasSize = value;
      return this;
    }

    /**
     * Objects of one text: 1,000,000 by default. Further ones are not read.
     *
     * @param value 1 to 2,147,483,583
     * @return this
     */
    public Builder maxObjects(int value) {
      maxObjects = value;
      return this;
    }

    /**
     * Problems listed for one text: 10,000 by default. One more says how many are not.
     *
     * @param value 1 to 2,147,483,583
     * @return this
     */
    public Builder maxProblems(int value) {
      maxProblems = value;
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return a reader with these limits
     * @throws InvalidInputException listing every limit out of range
     */
    public ManifestReader build() {
      Problems problems = new Problems();
      check(problems, "maxBytes", maxBytes, 1, LARGEST);
      // Trees are read and converted by recursion.
      check(problems, "maxDepth", maxDepth, 1, DEEPEST);
      check(problems, "maxObjectSize", maxObjectSize, 1, LARGEST);
      check(problems, "maxAliasSize", maxAliasSize, 0, LARGEST);
      check(problems, "maxObjects", maxObjects, 1, LARGEST);
      check(problems, "maxProblems", maxProblems, 1, LARGEST);
      problems.throwIfAny("manifest reader");
      return new ManifestReader(
          new ManifestLimits(
              maxBytes, maxDepth, maxObjectSize, maxAliasSize, maxObjects, maxProblems));
    }

    private static void check(Problems problems, String name, int value, int least, int most) {
      if (value < least || value > most) {
        problems.add(name, "expected " + least + " to " + most + ", but was " + value);
      }
    }
  }
}
