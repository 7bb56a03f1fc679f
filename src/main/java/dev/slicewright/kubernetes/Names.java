package dev.slicewright.kubernetes;

import dev.slicewright.topology.Shape;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Locale;

/** Ids of requests, names of slices, digests: deterministic, and within the platform's limits. */
final class Names {

  static final int MAX_SLICE_NAME = 49;
  static final int MAX_REQUEST_ID = 253;
  private static final int DIGITS = 10;

  private Names() {}

  /** The id of the request of a workload, such as {@code JobSet/team-a/train/workers}. */
  static String request(String kind, String namespace, String name, String podSet) {
    return id(kind + "/" + namespace + "/" + name + (podSet.isEmpty() ? "" : "/" + podSet));
  }

  /** An id that a request can have: itself, or where it is too long its beginning and a digest. */
  static String id(String id) {
    return id.length() <= MAX_REQUEST_ID
        ? id
        : id.substring(0, MAX_REQUEST_ID - DIGITS - 1) + "~" + digest(id);
  }

  /** A digest of type, topology and partition ids in order. */
  static String epoch(String type, Shape topology, List<String> partitionIds) {
    return digest(type + " " + topology + " " + String.join(" ", partitionIds));
  }

  /**
   * The name of a slice: what people recognise of its workload, the slice's number, and its epoch,
   * so that equal names mean equal places.
   */
  static String slice(String request, int index, String epoch) {
    String[] parts = request.split("/", -1);
    String readable =
        parts.length > 2 ? String.join("-", List.of(parts).subList(2, parts.length)) : request;
    StringBuilder text = new StringBuilder();
    for (char c : readable.toLowerCase(Locale.ROOT).toCharArray()) {
      boolean plain = c >= 'a' && c <= 'z' || c >= '0' && c <= '9';
      if (plain || text.length() > 0 && text.charAt(text.length() - 1) != '-') {
        text.append(plain ? c : '-');
      }
    }
    if (text.length() == 0 || text.charAt(0) < 'a') {
      text.insert(0, "s-");
    }
    // Two requests may read alike, and two of their slices may follow one another on one place.
    String tail = "-" + index + "-" + digest(request + " " + index + " " + epoch);
    text.setLength(Math.min(text.length(), MAX_SLICE_NAME - tail.length()));
    while (text.charAt(text.length() - 1) == '-') {
      text.setLength(text.length() - 1);
    }
    return text + tail;
  }

  /** Ten characters, 50 bits, of SHA-256. */
  static String digest(String text) {
    byte[] hash;
    try {
      hash = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
    long bits = 0;
    for (int i = 0; i < Long.BYTES; i++) {
      bits = bits << Byte.SIZE | hash[i] & 0xff;
    }
    StringBuilder digits = new StringBuilder();
    for (int i = 0; i < DIGITS; i++) {
      digits.append("abcdefghijklmnopqrstuvwxyz234567".charAt((int) (bits >>> (5 * i) & 31)));
    }
    return digits.toString();
  }
}
