package agent.bindings.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NetlinkQueryTest {
  private static final int SEQUENCE = 7;
  private static final int ANSWER = 16;
  private static final int NLM_F_MULTI = 0x2;
  private static final int NLM_F_DUMP_INTR = 0x10;
  private static final int NLM_F_CAPPED = 0x100;
  private static final int NLM_F_ACK_TLVS = 0x200;

  private final ByteBuffer datagram = ByteBuffer.allocate(512).order(ByteOrder.nativeOrder());
  private final NetlinkQuery<Integer> query =
      new NetlinkQuery<>("things: list", SEQUENCE, message -> Optional.of(message.getInt(0)));

  private void message(int type, int flags, int sequence, byte[] payload) {
    datagram.putInt(16 + payload.length).putShort((short) type).putShort((short) flags);
    datagram.putInt(sequence).putInt(0).put(payload);
    datagram.position(datagram.position() + 3 & -4);
  }

  private void message(int type, int flags, int sequence, int payload) {
    message(type, flags, sequence, bytes(payload).array());
  }

  private static ByteBuffer bytes(int... values) {
    final ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Integer.BYTES).order(ByteOrder.nativeOrder());
    for (final int value : values) {
      bytes.putInt(value);
    }
    return bytes;
  }

  private boolean read() {
    final boolean isDone =
        query.read(new NetlinkMessageFlyweight().wrap(datagram, datagram.position()));
    datagram.clear();
    return isDone;
  }

  @Test
  void shouldReadAListThatComesInSeveralDatagrams() {
    message(ANSWER, NLM_F_MULTI, SEQUENCE, 1);
    message(ANSWER, NLM_F_MULTI, SEQUENCE, 2);
    assertFalse(read());
    message(ANSWER, NLM_F_MULTI, SEQUENCE, 3);
    message(NetlinkQuery.NLMSG_DONE, NLM_F_MULTI, SEQUENCE, 0);
    assertTrue(read());
    assertEquals(List.of(1, 2, 3), query.answers());
    assertFalse(query.isInterrupted());
  }

  @Test
  void shouldSkipAnswersToAnotherRequest() {
    message(ANSWER, NLM_F_MULTI, SEQUENCE - 1, 9);
    message(NetlinkQuery.NLMSG_DONE, NLM_F_MULTI, SEQUENCE - 1, -Errno.EINVAL);
    message(ANSWER, 0, SEQUENCE, 1);
    message(NetlinkQuery.NLMSG_ERROR, NLM_F_CAPPED, SEQUENCE, 0);
    assertTrue(read());
    assertEquals(List.of(1), query.answers());
  }

  @Test
  void shouldReportThatTheListChangedDuringTheRead() {
    message(ANSWER, NLM_F_MULTI | NLM_F_DUMP_INTR, SEQUENCE, 1);
    message(NetlinkQuery.NLMSG_DONE, NLM_F_MULTI, SEQUENCE, 0);
    assertTrue(read());
    assertTrue(query.isInterrupted());
  }

  @Test
  void shouldReportAListChangeThatOnlyTheEndFlags() {
    message(ANSWER, NLM_F_MULTI, SEQUENCE, 1);
    message(NetlinkQuery.NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, SEQUENCE, 0);
    assertTrue(read());
    assertTrue(query.isInterrupted());
  }

  @Test
  void shouldReportTheKernelsExplanation() {
    final byte[] request = bytes(16, 0, 0, 0).array();
    message(
        NetlinkQuery.NLMSG_ERROR,
        NLM_F_CAPPED | NLM_F_ACK_TLVS,
        SEQUENCE,
        error(-Errno.EINVAL, request, "Nexthop device is not up"));
    final NetlinkException failure = assertThrows(NetlinkException.class, this::read);
    assertEquals("things: list: EINVAL: Nexthop device is not up", failure.getMessage());
    assertEquals(Errno.EINVAL, failure.errno());
  }

  @Test
  void shouldFindTheExplanationAfterTheWholeRequest() {
    final byte[] request = bytes(24, 0, 0, 0, 0xffff_ffff, 0xffff_ffff).array();
    message(
        NetlinkQuery.NLMSG_ERROR,
        NLM_F_ACK_TLVS,
        SEQUENCE,
        error(-Errno.EINVAL, request, "Unknown"));
    final NetlinkException failure = assertThrows(NetlinkException.class, this::read);
    assertEquals("things: list: EINVAL: Unknown", failure.getMessage());
  }

  @Test
  void shouldFailIfTheEndOfAListIsAnError() {
    message(ANSWER, NLM_F_MULTI, SEQUENCE, 1);
    message(
        NetlinkQuery.NLMSG_DONE,
        NLM_F_MULTI | NLM_F_ACK_TLVS,
        SEQUENCE,
        error(-Errno.ENOENT, new byte[0], "no table"));
    final NetlinkException failure = assertThrows(NetlinkException.class, this::read);
    assertEquals("things: list: ENOENT: no table", failure.getMessage());
  }

  @Test
  void shouldRefuseMessagesThatDoNotFitTheirLength() {
    for (final int length : new int[] {-1, 0, 15, 21, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      message(ANSWER, 0, SEQUENCE, 1);
      datagram.putInt(0, length);
      final NetlinkException failure = assertThrows(NetlinkException.class, this::read);
      assertEquals(Errno.EBADMSG, failure.errno());
      datagram.clear();
    }
    message(NetlinkQuery.NLMSG_DONE, 0, SEQUENCE, new byte[3]);
    assertEquals(Errno.EBADMSG, assertThrows(NetlinkException.class, this::read).errno());
  }

  @Test
  void shouldRefuseAttributesThatDoNotFitTheirLength() {
    for (final int length : new int[] {0, 3, 13, 0xffff}) {
      final ByteBuffer payload = bytes(0, 0, 0);
      payload.putShort(0, (short) length);
      message(ANSWER, 0, SEQUENCE, payload.array());
      final NetlinkMessageFlyweight messages = new NetlinkMessageFlyweight().wrap(datagram, 28);
      assertTrue(messages.next());
      final NetlinkAttributeFlyweight attributes = messages.attributes(0);
      assertEquals(Errno.EBADMSG, assertThrows(NetlinkException.class, attributes::next).errno());
      datagram.clear();
    }
  }

  @Test
  void shouldRefuseToReadBeyondAValue() {
    final ByteBuffer payload = bytes(0, 0, 0x11223344);
    payload.putShort(0, (short) 9).putShort(2, (short) 5);
    message(ANSWER, 0, SEQUENCE, payload.array());
    message(ANSWER, 0, SEQUENCE, 0x55667788);
    final NetlinkMessageFlyweight messages =
        new NetlinkMessageFlyweight().wrap(datagram, datagram.position());
    assertTrue(messages.next());
    final NetlinkAttributeFlyweight attributes = messages.attributes(0);
    assertTrue(attributes.next());
    assertEquals(5, attributes.type());
    assertEquals(5, attributes.getBytes().length);
    assertThrows(NetlinkException.class, attributes::getInt);
    assertThrows(NetlinkException.class, attributes::getByte);
    assertThrows(NetlinkException.class, () -> attributes.getInt(2));
    assertThrows(NetlinkException.class, () -> attributes.getInt(5));
    assertThrows(NetlinkException.class, () -> attributes.getInt(-1));
    assertThrows(NetlinkException.class, () -> attributes.getInt(Integer.MAX_VALUE));
    assertThrows(NetlinkException.class, () -> messages.getInt(9));
    assertThrows(NetlinkException.class, () -> messages.getInt(-1));
    assertThrows(NetlinkException.class, () -> messages.getInt(Integer.MAX_VALUE));
    assertThrows(NetlinkException.class, () -> messages.attributes(13));
  }

  @Test
  void shouldReadOrRefuseArbitraryBytes() {
    final Random random = new Random(20261121);
    final byte[] request = bytes(16, 0, 0, 0).array();
    for (int i = 0; i < 100_000; i++) {
      message(ANSWER, NLM_F_MULTI, SEQUENCE, 1);
      message(
          NetlinkQuery.NLMSG_ERROR,
          NLM_F_CAPPED | NLM_F_ACK_TLVS,
          SEQUENCE,
          error(-Errno.EINVAL, request, "Nexthop device is not up"));
      for (int n = random.nextInt(4); n > 0; n--) {
        datagram.put(random.nextInt(datagram.position()), (byte) random.nextInt());
      }
      datagram.position(random.nextInt(datagram.position() + 1));
      try {
        read();
      } catch (NetlinkException refused) {
        assertTrue(refused.errno() > 0);
      }
      datagram.clear();
    }
  }

  private static byte[] error(int errno, byte[] request, String explanation) {
    final byte[] text = (explanation + '\0').getBytes(StandardCharsets.US_ASCII);
    final ByteBuffer payload =
        ByteBuffer.allocate(8 + request.length + text.length).order(ByteOrder.nativeOrder());
    payload.putInt(errno).put(request).putShort((short) (4 + text.length)).putShort((short) 1);
    return payload.put(text).array();
  }
}
