package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.Collection;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLMapper;
import tools.jackson.dataformat.yaml.YAMLWriteFeature;
import tools.jackson.dataformat.yaml.util.StringQuotingChecker;

/**
 * Writes objects as YAML that {@code kubectl} and {@link ManifestReader} read as the same objects.
 * Immutable, safe to share.
 */
public final class ManifestWriter {

  // Escapes outside ASCII: YAML 1.1, which kubectl reads, has line breaks there. The longest key is
  // what its parser takes.
  private static final DumpSettings SETTINGS =
      DumpSettings.builder()
          .setDefaultFlowStyle(FlowStyle.BLOCK)
          .setExplicitStart(true)
          .setSplitLines(false)
          .setMaxSimpleKeyLength(1024)
          .setUseUnicodeEncoding(false)
          .build();

  private static final ObjectWriter WRITER =
      YAMLMapper.builder(
              YAMLFactory.builder()
                  .enable(YAMLWriteFeature.MINIMIZE_QUOTES)
                  .dumperOptions(SETTINGS)
                  .stringQuotingChecker(new Quoting())
                  .build())
          .build()
          .writer();

  private ManifestWriter() {}

  /**
   * Writes objects.
   *
   * @param objects of any kinds; none null
   * @return a document for each, in the order given, each after a line of {@code ---}; empty if
   *     there are none
   */
  public static String toYaml(Collection<? extends HasMetadata> objects) {
    StringBuilder text = new StringBuilder();
    for (HasMetadata object : objects) {
      text.append(WRITER.writeValueAsString(object));
    }
    return text.toString();
  }

  /** Leaves only those strings plain that no reader of YAML takes for anything else. */
  private static final class Quoting extends StringQuotingChecker {
    private static final long serialVersionUID = 1;

    @Override
    public boolean needToQuoteName(String name) {
      return !isPlain(name);
    }

    @Override
    public boolean needToQuoteValue(String value) {
      return !isPlain(value);
    }

    /**
     * Whether it begins with a letter, has only letters, digits and {@code . / - _} after that, and
     * is no word such as {@code yes} or {@code null}.
     */
    private static boolean isPlain(String text) {
      if (text.isEmpty() || !isLetter(text.charAt(0))) {
        return false;
      }
      for (int i = 1; i < text.length(); i++) {
        char c = text.charAt(i);
        if (!isLetter(c) && !(c >= '0' && c <= '9') && "./-_".indexOf(c) < 0) {
          return false;
        }
      }
      return ManifestScalars.plain(text).isString();
    }

    private static boolean isLetter(char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
  }
}
