package agent.dns.proxy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/** Messages with their lengths before them (RFC 1035 section 4.2.2), in both directions. */
final class MessageStream {
  private static final int LENGTH_BYTES = 2;
  private static final int FIRST_BYTES = 1_024;

  private final Deque<ByteBuffer> out = new ArrayDeque<>();
  private byte[] in = new byte[FIRST_BYTES];
  private int start;
  private int end;
  private int queuedBytes;

  /** Reads what has come, as far as there is room; returns false at the end of the stream. */
  boolean read(SocketChannel channel) throws IOException {
    makeRoom();
    final ByteBuffer room = ByteBuffer.wrap(in, end, in.length - end);
    final int read = channel.read(room);
    end += Math.max(0, read);
    return read >= 0;
  }

  /** Moves what is not taken to the front; a message that is begun gets room for all of it. */
  private void makeRoom() {
    if (start > 0) {
      System.arraycopy(in, start, in, 0, end - start);
      end -= start;
      start = 0;
    }
    final int wanted = wanted();
    if (wanted > in.length) {
      in = Arrays.copyOf(in, wanted);
    } else if (end == 0 && in.length > FIRST_BYTES) {
      in = new byte[FIRST_BYTES];
    }
  }

  /** Returns how long the first message is, with its length. */
  private int wanted() {
    return end - start < LENGTH_BYTES
        ? LENGTH_BYTES
        : LENGTH_BYTES + DnsQuestion.short16(in, start);
  }

  boolean hasMessage() {
    return end - start >= LENGTH_BYTES && end - start >= wanted();
  }

  /** Returns the next message; null where it is not complete. */
  byte[] next() {
    if (!hasMessage()) {
      return null;
    }
    final int length = wanted();
    final byte[] message = Arrays.copyOfRange(in, start + LENGTH_BYTES, start + length);
    start += length;
    return message;
  }

  /** Adds a message to what {@link #write} sends. */
  void add(byte[] message) {
    final byte[] framed = new byte[LENGTH_BYTES + message.length];
    DnsQuestion.short16(framed, 0, message.length);
    System.arraycopy(message, 0, framed, LENGTH_BYTES, message.length);
    out.add(ByteBuffer.wrap(framed));
    queuedBytes += framed.length;
  }

  /** Sends as much as the socket takes now. */
  void write(SocketChannel channel) throws IOException {
    for (ByteBuffer first = out.peek(); first != null; first = out.peek()) {
      queuedBytes -= channel.write(first);
      if (first.hasRemaining()) {
        return;
      }
      out.poll();
    }
  }

  int queuedBytes() {
    return queuedBytes;
  }
}
