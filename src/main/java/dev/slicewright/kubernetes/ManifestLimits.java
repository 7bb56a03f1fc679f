package dev.slicewright.kubernetes;

/**
 * How much {@link ManifestReader} takes; {@link ManifestReader.Builder} says what each means.
 *
 * @param maxBytes of the text
 * @param maxDepth of mappings and lists within each other
 * @param maxObjectSize fields plus characters of one object, aliases written out
 * @param maxAliasSize fields plus characters that all anchors keep and all aliases stand for
 * @param maxObjects read from one text
 * @param maxProblems listed for one text
 */
record ManifestLimits(
    int maxBytes,
    int maxDepth,
    int maxObjectSize,
    int maxAliasSize,
    int maxObjects,
    int maxProblems) {

  static final ManifestLimits DEFAULTS =
      new ManifestLimits(512 << 20, 100, 4 << 20, 16 << 20, 1_000_000, 10_000);
}
