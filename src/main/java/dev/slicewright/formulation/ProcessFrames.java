package dev.slicewright.formulation;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.IntConsumer;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * Messages on a stream that others print on too.
 *
 * <p>A child's standard output and error are one pipe, on which native code and the JVM itself may
 * print at any time: no Java code can move them elsewhere. So a message is cut into chunks of at
 * most {@value #CHUNK} bytes, each written by one call, and each begins with 8 random bytes that
 * the parent chose and ends with a checksum. POSIX has writes of up to {@code PIPE_BUF} bytes,
 * which is 512 or more, appear in a pipe as a whole, so that what others print falls between
 * chunks, where the reader tells it apart; where a system tears them, the checksum says so.
 *
 * @see <a href="https://pubs.opengroup.org/onlinepubs/9799919799/functions/write.html">write</a>
 */
final class ProcessFrames {

  /** The least that POSIX allows PIPE_BUF to be. */
  private static final int CHUNK = 512;

  private static final int HEAD = 8 + 2 + 1;
  private static final int TAIL = 4;
  private static final int ROOM = CHUNK - HEAD - TAIL;

  private ProcessFrames() {}

  /** Writes messages. Safe for concurrent use. */
  static final class Writer {
    private final OutputStream out;
    private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK);
    private final CRC32 crc = new CRC32();
    private final long mark;
    private int sequence;

    Writer(OutputStream out, long mark) {
      this.out = out;
      this.mark = mark;
    }

    synchronized void write(byte[] message) throws IOException {
      int from = 0;
      do {
        int n = Math.min(ROOM, message.length - from);
        chunk.clear();
        chunk.putLong(mark).putShort((short) n).put((byte) (from + n == message.length ? 1 : 0));
        chunk.put(message, from, n);
        chunk.putInt(checksum(crc, sequence++, chunk.array(), n));
        out.write(chunk.array(), 0, chunk.position());
        from += n;
      } while (from < message.length);
    }
  }

  private static int checksum(CRC32 crc, int sequence, byte[] chunk, int n) {
    crc.reset();
    crc.update(sequence >>> 24);
    crc.update(sequence >>> 16);
    crc.update(sequence >>> 8);
    crc.update(sequence);
    crc.update(chunk, 8, HEAD - 8 + n);
    return (int) crc.getValue();
  }

  /** Reads messages. Confined to one thread at a time. */
  static final class Reader {
    private final InputStream in;
    private final long mark;
    private final IntConsumer others;
    private final byte[] buffer = new byte[1 << 16];
    private int at;
    private int end;
    private final byte[] chunk = new byte[CHUNK];
    private final CRC32 crc = new CRC32();
    private int sequence;
    private byte[] message = new byte[CHUNK];

    /**
     * Makes one.
     *
     * @param others takes the bytes that are no messages
     */
    Reader(InputStream in, long mark, IntConsumer others) {
      this.in = in;
      this.mark = mark;
      this.others = others;
    }

    private int next() throws IOException {
      if (at == end) {
        end = in.read(buffer);
        at = 0;
        if (end <= 0) {
          end = 0;
          return -1;
        }
      }
      return buffer[at++] & 0xFF;
    }

    /**
     * The next message, or null at the end of the stream.
     *
     * @throws ProcessWire.BadMessage if a chunk was torn
     */
    byte @Nullable [] read() throws IOException {
      int length = 0;
      while (true) {
        if (!findMark()) {
          return null;
        }
        int n = next() << 8 | next();
        int last = next();
        if (n < 0 || n > ROOM || last < 0 || last > 1) {
          throw torn();
        }
        chunk[8] = (byte) (n >> 8);
        chunk[9] = (byte) n;
        chunk[10] = (byte) last;
        for (int i = 0; i < n + TAIL; i++) {
          int b = next();
          if (b < 0) {
            return null; // it died while it wrote
          }
          chunk[HEAD + i] = (byte) b;
        }
        int expected = checksum(crc, sequence++, chunk, n);
        if (ByteBuffer.wrap(chunk).getInt(HEAD + n) != expected) {
          throw torn();
        }
        if (length + n > ProcessWire.MAX_MESSAGE) {
          throw new ProcessWire.BadMessage(
              "a message beyond " + ProcessWire.MAX_MESSAGE + " bytes");
        }
        if (length + n > message.length) {
          message = Arrays.copyOf(message, Math.max(length + n, 2 * message.length));
        }
        System.arraycopy(chunk, HEAD, message, length, n);
        length += n;
        if (last == 1) {
          byte[] whole = Arrays.copyOf(message, length);
          if (message.length > 1 << 20) {
            message = new byte[CHUNK];
          }
          return whole;
        }
      }
    }

    private static ProcessWire.BadMessage torn() {
      return new ProcessWire.BadMessage("a message was torn by what else was printed");
    }

    /** Skips what is no message; false at the end of the stream. */
    private boolean findMark() throws IOException {
      long window = 0;
      int held = 0;
      while (true) {
        int b = next();
        if (b < 0) {
          for (int i = held - 1; i >= 0; i--) {
            others.accept((int) (window >>> 8 * i & 0xFF));
          }
          return false;
        }
        if (held == 8) {
          others.accept((int) (window >>> 56));
        } else {
          held++;
        }
        window = window << 8 | b;
        if (held == 8 && window == mark) {
          return true;
        }
      }
    }
  }
}
