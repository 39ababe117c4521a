package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When the time of an HTTP/2 client runs, by the frames of RFC 9113 section 4.1. */
class Http2FrameWatchTest {
  private static final long LIMIT_SEC = 10;
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int CONTINUATION = 9;
  private static final int UNKNOWN = 0x80;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final TimeLimit limit = new TimeLimit(channel, Duration.ofSeconds(LIMIT_SEC));

  @BeforeEach
  void start() {
    channel.freezeTime();
    channel.pipeline().addLast(new Http2FrameWatch(limit));
  }

  @AfterEach
  void stop() {
    channel.finishAndReleaseAll();
  }

  private static ByteBuf preface() {
    return Unpooled.copiedBuffer("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", StandardCharsets.US_ASCII);
  }

  private static ByteBuf header(int type, int flags, int length) {
    return Unpooled.buffer().writeMedium(length).writeByte(type).writeByte(flags).writeInt(1);
  }

  private static ByteBuf frame(int type, int flags, int length) {
    return header(type, flags, length).writeZero(length);
  }

  private void send(ByteBuf... parts) {
    channel.writeInbound(Unpooled.wrappedBuffer(parts));
    channel.releaseInbound();
  }

  /** Sends bytes one by one; the time must run until the last one alone. */
  private void assertLimited(ByteBuf bytes) {
    while (bytes.readableBytes() > 1) {
      send(bytes.readBytes(1));
      assertTrue(limit.isRunning(), bytes.readableBytes() + " bytes are to come");
    }
    send(bytes);
    assertFalse(limit.isRunning());
  }

  /** Goes on to where no frame has begun. */
  private void open() {
    send(preface(), frame(SETTINGS, 0, 0));
    assertFalse(limit.isRunning());
  }

  @Test
  void shouldLimitThePrefaceWithTheFirstFrame() {
    assertLimited(Unpooled.wrappedBuffer(preface(), frame(SETTINGS, 0, 12)));
  }

  @Test
  void shouldLimitAPrefaceThatComesWithPartOfTheFirstFrame() {
    send(preface());
    assertTrue(limit.isRunning());
    send(header(SETTINGS, 0, 6), Unpooled.buffer().writeZero(5));
    assertTrue(limit.isRunning());
    send(Unpooled.buffer().writeZero(1));
    assertFalse(limit.isRunning());
  }

  @ParameterizedTest
  @ValueSource(ints = {SETTINGS, PING, UNKNOWN, 0xff})
  void shouldLimitEachFrameFromItsFirstByteToItsLast(int type) {
    open();
    for (final int length : new int[] {8, 0, 300, 1}) {
      assertLimited(frame(type, 0, length));
    }
  }

  /** Bodies may come slowly: they have the limits of their requests. */
  @Test
  void shouldLimitTheHeaderOfADataFrameButNotItsPayload() {
    open();
    for (int i = 0; i < 2; i++) {
      assertLimited(header(DATA, END_STREAM, 3));
      for (int j = 0; j < 3; j++) {
        send(Unpooled.buffer().writeZero(1));
        assertFalse(limit.isRunning());
      }
    }
    assertLimited(frame(PING, 0, 8));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, END_STREAM, 0x28, 0xfb})
  void shouldLimitABlockOfFieldsUntilTheFrameThatEndsIt(int flags) {
    open();
    send(frame(HEADERS, flags, 5));
    assertTrue(limit.isRunning());
    send(frame(CONTINUATION, flags, 2));
    assertTrue(limit.isRunning());
    send(frame(CONTINUATION, END_HEADERS, 0));
    assertFalse(limit.isRunning());
    assertLimited(frame(HEADERS, flags | END_HEADERS, 5));
  }

  @Test
  void shouldKeepTheTimeOfABlockWhileOtherFramesCome() {
    open();
    send(frame(HEADERS, 0, 1), frame(PING, END_HEADERS, 8), frame(DATA, END_HEADERS, 4));
    assertTrue(limit.isRunning());
  }

  @ParameterizedTest
  @ValueSource(ints = {DATA, SETTINGS, PING, UNKNOWN})
  void shouldNotTakeTheFlagsOfOtherFramesForThoseOfABlock(int type) {
    open();
    send(frame(type, 0, 4));
    assertFalse(limit.isRunning());
    send(frame(type, END_HEADERS, 4));
    assertFalse(limit.isRunning());
  }

  @Test
  void shouldReadLengthsOfThreeBytes() {
    open();
    final int length = 0x010203;
    send(frame(UNKNOWN, 0, length), frame(UNKNOWN, 0, 0x80), header(UNKNOWN, 0, length));
    assertTrue(limit.isRunning());
    send(Unpooled.buffer().writeZero(length - 1));
    assertTrue(limit.isRunning());
    send(Unpooled.buffer().writeZero(1), frame(PING, 0, 8));
    assertFalse(limit.isRunning());
  }

  @Test
  void shouldFindTheNextFrameWhereverReadsEnd() {
    final ByteBuf all = Unpooled.buffer();
    all.writeBytes(preface()).writeBytes(frame(SETTINGS, 0, 6));
    for (int i = 0; i < 40; i++) {
      all.writeBytes(frame(HEADERS, END_HEADERS, i)).writeBytes(frame(DATA, 0, 3 * i));
    }
    all.writeBytes(frame(PING, 0, 8));
    for (int size = 1; size < 60; size++) {
      final EmbeddedChannel other = new EmbeddedChannel();
      final TimeLimit time = new TimeLimit(other, Duration.ofSeconds(LIMIT_SEC));
      other.pipeline().addLast(new Http2FrameWatch(time));
      for (int i = 0; i < all.readableBytes(); i += size) {
        other.writeInbound(all.copy(i, Math.min(size, all.readableBytes() - i)));
      }
      assertFalse(time.isRunning(), "reads of " + size);
      other.writeInbound(header(PING, 0, 8));
      assertTrue(time.isRunning(), "reads of " + size);
      other.finishAndReleaseAll();
    }
  }

  @Test
  void shouldCloseTheConnectionWhenAFrameIsNotWholeInTime() {
    open();
    channel.advanceTimeBy(10 * LIMIT_SEC, TimeUnit.SECONDS);
    channel.runScheduledPendingTasks();
    assertTrue(channel.isOpen(), "no frame has begun");
    send(header(PING, 0, 8));
    channel.advanceTimeBy(LIMIT_SEC - 1, TimeUnit.SECONDS);
    channel.runScheduledPendingTasks();
    send(Unpooled.buffer().writeZero(1));
    assertTrue(channel.isOpen());
    channel.advanceTimeBy(1, TimeUnit.SECONDS);
    channel.runScheduledPendingTasks();
    assertFalse(channel.isOpen(), "a byte gives no more time");
  }

  @Test
  void shouldPassOnWhatItHasWatchedAsItCame() {
    final ByteBuf bytes = Unpooled.buffer().writeZero(3).writeBytes(preface()).skipBytes(3);
    channel.writeInbound(bytes);
    assertSame(bytes, channel.readInbound());
    assertEquals(preface(), bytes);
    bytes.release();
    channel.writeInbound("an event that is no bytes");
    assertEquals("an event that is no bytes", channel.readInbound());
    send(frame(SETTINGS, 0, 0));
    assertFalse(limit.isRunning(), "bytes before the reader index are not counted");
  }
}
