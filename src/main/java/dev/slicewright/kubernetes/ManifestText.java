package dev.slicewright.kubernetes;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Decodes a text and cuts it into documents, in one pass over it. Confined to one thread at a time.
 *
 * <p>A line that begins with {@code ---} or {@code ...} ends a document wherever it stands: YAML
 * allows neither inside quotes nor inside blocks. So what is broken in one document leaves the next
 * one readable.
 */
final class ManifestText {

  /** Stands for bytes that are none of the encoding; no text may have this character. */
  private static final char MALFORMED = '\uFFFF';

  private static final char REPLACEMENT = '\uFFFD';
  private static final char BYTE_ORDER_MARK = '\uFEFF';
  private static final char NEXT_LINE = '\u0085';

  private final String text;
  private int at;
  private int line = 1;
  private int lineStart;

  /** Whether a line of {@code %} is a directive: at the start and after {@code ...}. */
  private boolean directivesMayFollow = true;

  private @Nullable ManifestFault illegal;
  private boolean isDecoded = true;

  ManifestText(String text) {
    this.text = text;
  }

  /**
   * A document, or what stands between two.
   *
   * @param start of it in the text
   * @param end of it, exclusive
   * @param line of the start, counted from 1
   * @param isExplicit whether it begins with {@code ---}, directives apart
   * @param hasContent whether it has more than blanks and comments
   * @param illegal the first character that YAML does not allow, or null
   * @param isDecoded whether all of its bytes were of the encoding
   */
  record Part(
      int start,
      int end,
      int line,
      boolean isExplicit,
      boolean hasContent,
      @Nullable ManifestFault illegal,
      boolean isDecoded) {}

  /**
   * Decodes bytes: by their byte order mark, else as UTF-8. Bytes that are none of the encoding
   * become a character that no text has.
   */
  static String decode(byte[] bytes) {
    Charset charset = StandardCharsets.UTF_8;
    int skip = 0;
    if (startsWith(bytes, 0xEF, 0xBB, 0xBF)) {
      skip = 3;
    } else if (startsWith(bytes, 0, 0, 0xFE, 0xFF) || startsWith(bytes, 0xFF, 0xFE, 0, 0)) {
      charset = Charset.forName(bytes[0] == 0 ? "UTF-32BE" : "UTF-32LE");
      skip = 4;
    } else if (startsWith(bytes, 0xFE, 0xFF)) {
      charset = StandardCharsets.UTF_16BE;
      skip = 2;
    } else if (startsWith(bytes, 0xFF, 0xFE)) {
      charset = StandardCharsets.UTF_16LE;
      skip = 2;
    }
    String text = new String(bytes, skip, bytes.length - skip, charset);
    // Only a text with replacements can have lost something, and few have any.
    return text.indexOf(REPLACEMENT) < 0 ? text : decodeMarking(bytes, skip, charset);
  }

  private static boolean startsWith(byte[] bytes, int... start) {
    for (int i = 0; i < start.length; i++) {
      if (i >= bytes.length || (bytes[i] & 0xFF) != start[i]) {
        return false;
      }
    }
    return true;
  }

  private static String decodeMarking(byte[] bytes, int skip, Charset charset) {
    CharsetDecoder decoder =
        charset
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT);
    ByteBuffer in = ByteBuffer.wrap(bytes, skip, bytes.length - skip);
    StringBuilder text = new StringBuilder(bytes.length - skip);
    CharBuffer out = CharBuffer.allocate(8192);
    CoderResult result;
    do {
      result = decoder.decode(in, out, true);
      text.append(out.flip());
      out.clear();
      if (result.isError()) {
        text.append(MALFORMED);
        in.position(in.position() + result.length());
      }
    } while (!result.isUnderflow());
    return text.toString();
  }

  String text() {
    return text;
  }

  /**
   * Goes on to the next part.
   *
   * @return it, or null at the end
   */
  @Nullable Part next() {
    if (at >= text.length()) {
      return null;
    }
    int start = at;
    int startLine = line;
    boolean explicit = false;
    boolean directive = false;
    boolean content = false;
    boolean over = false;
    illegal = null;
    isDecoded = true;
    while (at < text.length() && !over) {
      if (isMarker('-')) {
        boolean closesDirectives = directive && !explicit && !content;
        if (at > start && !closesDirectives) {
          break;
        }
        explicit = true;
        directivesMayFollow = false;
        at += 3;
      } else if (isMarker('.')) {
        over = true;
        at += 3;
      } else if (directivesMayFollow && text.charAt(at) == '%') {
        directive = true;
      }
      if (!isBlankLine() && !(directive && directivesMayFollow)) {
        content = true;
        directivesMayFollow = false;
      }
      finishLine();
    }
    directivesMayFollow |= over;
    return new Part(start, at, startLine, explicit, content || directive, illegal, isDecoded);
  }

  private boolean isMarker(char c) {
    return at + 2 < text.length()
        && text.charAt(at) == c
        && text.charAt(at + 1) == c
        && text.charAt(at + 2) == c
        && (at + 3 == text.length() || isBlank(text.charAt(at + 3)));
  }

  private static boolean isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }

  /** Whether the rest of the line is blank or a comment. */
  private boolean isBlankLine() {
    for (int i = at; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\n' || c == '\r' || c == '#') {
        return true;
      }
      if (!isBlank(c) && c != BYTE_ORDER_MARK) {
        return false;
      }
    }
    return true;
  }

  /** Goes to the next line and looks at every character of this one. */
  private void finishLine() {
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '\n' || c == '\r') {
        if (c == '\r' && at < text.length() && text.charAt(at) == '\n') {
          at++;
        }
        line++;
        lineStart = at;
        break;
      }
      if ((c >= ' ' && c < 0x7F) || c == '\t') {
        continue;
      }
      if (Character.isHighSurrogate(c)
          && at < text.length()
          && Character.isLowSurrogate(text.charAt(at))) {
        at++;
      } else if (!isPrintable(c)) {
        isDecoded &= c != MALFORMED;
        illegal =
            illegal == null
                ? new ManifestFault(line, at - lineStart, at - 1, complaint(c))
                : illegal;
      }
    }
  }

  /** YAML's rule for characters other than ASCII's, line breaks and pairs of surrogates. */
  private static boolean isPrintable(char c) {
    return c == NEXT_LINE || (c >= 0xA0 && !Character.isSurrogate(c) && c <= REPLACEMENT);
  }

  private static String complaint(char c) {
    if (c == MALFORMED) {
      return "expected UTF-8 (or UTF-16 or UTF-32 with a byte order mark), got other bytes";
    }
    String code = Integer.toHexString(0x10000 | c).substring(1).toUpperCase(Locale.ROOT);
    String what = c == 0 ? "a NUL (is it UTF-16 without a byte order mark?)" : "U+" + code;
    return "expected printable characters, got " + what + "; remove it or write it as an escape";
  }
}
