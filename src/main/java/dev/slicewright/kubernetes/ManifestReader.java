package dev.slicewright.kubernetes;

import java.io.InputStream;
import java.nio.file.Path;

/**
 * Reads YAML and JSON streams of Kubernetes objects: many documents, {@code List} kinds included.
 * Immutable, safe to share.
 *
 * <p>What is wrong becomes {@linkplain KubernetesObjects#problems problems}, each with document and
 * field; nothing is thrown for bad text.
 */
public final class ManifestReader {

  private ManifestReader() {}

  /** A reader with the default limits. */
  public static ManifestReader create() {
    throw new UnsupportedOperationException();
  }

  public KubernetesObjects read(String text) {
    throw new UnsupportedOperationException();
  }

  public KubernetesObjects read(byte[] bytes) {
    throw new UnsupportedOperationException();
  }

  /** Reads to the end or to the limit; does not close. */
  public KubernetesObjects read(InputStream in) throws java.io.IOException {
    throw new UnsupportedOperationException();
  }

  public KubernetesObjects read(Path file) throws java.io.IOException {
    throw new UnsupportedOperationException();
  }
}
