package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests which documents are refused, and with which JSON path. */
class DocumentReaderTest {
  private static final String LEASE =
      "{\"address\":\"10.1.0.7\",\"pool\":\"default\",\"owner\":\"\",\"endpointId\":12,"
          + "\"expirationUuid\":null,\"expiresAt\":null}";

  /** Returns two leases; one text of the second one is replaced. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "\"owner\":\"\" | \"colour\":1,\"owner\":\"\" | $.leases[1].colour: is unknown",
        "\"owner\":\"\", | ~~ | 'owner' before it is missing",
        ",\"expiresAt\":null | ~~ | $.leases[1].expiresAt: is missing",
        "\"expiresAt\":null | \"expiresAt\":null,\"a\":1 | $.leases[1].a: is unknown",
        "\"expiresAt\":null | \"expiresAt\":null,\"expiresAt\":null | is unknown or duplicate",
        "\"pool\":\"default\" | \"pool\":\"a\",\"pool\":\"default\" | $.leases[1].pool: is unknown, or duplicate",
        "\"default\" | 7 | $.leases[1].pool: is not a string but a number",
        "\"default\" | null | $.leases[1].pool: is not a string but null",
        "\"default\" | [] | $.leases[1].pool: is not a string but an array",
        "12 | \"12\" | $.leases[1].endpointId: is not an integer but a string",
        "12 | null | $.leases[1].endpointId: is not an integer but null",
        "12 | 12.0 | $.leases[1].endpointId: '12.0' is not an integer of 32 bits",
        "12 | 120e-1 | $.leases[1].endpointId: '120e-1' is not an integer of 32 bits",
        "12 | 2147483648 | $.leases[1].endpointId: '2147483648' is not an integer of 32 bits",
        "12 | 012 | $.leases[1].endpointId: ",
        "10.1.0.7 | 10.1.0.999 | $.leases[1].address: '10.1.0.999' is not an IP address",
        "\"expiresAt\":null | \"expiresAt\":\"noon\" | $.leases[1].expiresAt: 'noon' is not a time",
      })
  void shouldRefuseALease(String was, String is, String message) {
    refused(new LeaseCodec(), leases(LEASE + "," + LEASE.replace(was, is)), message);
  }

  @Test
  void shouldReadALease() throws Exception {
    final String other = LEASE.replace("10.1.0.7", "10.1.0.8");
    assertEquals(2, read(new LeaseCodec(), leases(LEASE + "," + other)).size());
  }

  @Test
  void shouldRefuseTrailingTextAndMissingDocuments() {
    refused(new LeaseCodec(), leases(LEASE) + "{}", "$: ");
    refused(new LeaseCodec(), leases(LEASE) + "x", "$: ");
    refused(new LeaseCodec(), leases(LEASE) + "\0", "$: ");
    refused(new LeaseCodec(), "", "$: ");
    refused(new LeaseCodec(), "null", "$: is not an object but null");
    refused(new LeaseCodec(), "[" + leases(LEASE) + "]", "$: is not an object but an array");
    refused(new LeaseCodec(), leases("null"), "$.leases[0]: is not an object but null");
    refused(new LeaseCodec(), leases(LEASE + ","), "$.leases[1]: ");
  }

  @Test
  void shouldRefuseADuplicateNameInAMap() {
    refused(
        new PolicyCodec(),
        "{\"revision\":1,\"rules\":[{\"endpointSelector\":{\"matchLabels\":{\"a\":\"1\",\"a\":\"1\"}",
        "$.rules[0].endpointSelector.matchLabels.a: is duplicate");
  }

  @Test
  void shouldRefuseDepthAtItsFirstToken() {
    refused(
        new PrefilterCodec(),
        "{\"revision\":1,\"deny\":" + "[".repeat(100_000),
        "$.deny[0]: is not a string but an array");
  }

  @Test
  void shouldRefuseBytesThatAreNotUtf8() {
    final byte[] bytes =
        "{\"ipv4Range\":null,\"ipv6Range\":\"A\"}".getBytes(StandardCharsets.UTF_8);
    bytes[bytes.length - 3] = (byte) 0xff;
    final DamagedStateException refusal =
        assertThrows(
            DamagedStateException.class,
            () -> DocumentReader.read(ByteBuffer.wrap(bytes), new NodeCodec()::read));
    assertTrue(refusal.getMessage().endsWith("is not UTF-8"), refusal.getMessage());
  }

  @Test
  void shouldShortenQuotedText() {
    final DamagedStateException refusal =
        refused(
            new NodeCodec(),
            "{\"ipv4Range\":\"" + "x".repeat(1_000_000) + "\",\"ipv6Range\":null}",
            "$.ipv4Range: 'xxx");
    assertTrue(refusal.getMessage().length() < 200, refusal.getMessage());
  }

  private static String leases(String elements) {
    return "{\"leases\":[" + elements + "]}";
  }

  private static <T> T read(Codec<T> codec, String document) throws DamagedStateException {
    return DocumentReader.read(
        ByteBuffer.wrap(document.getBytes(StandardCharsets.UTF_8)), codec::read);
  }

  private static DamagedStateException refused(Codec<?> codec, String document, String message) {
    final DamagedStateException refusal =
        assertThrows(DamagedStateException.class, () -> read(codec, document));
    assertTrue(refusal.getMessage().contains(message), refusal.getMessage());
    return refusal;
  }
}
