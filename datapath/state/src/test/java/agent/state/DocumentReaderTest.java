package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
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

  /** Replaces one text in an endpoint that release 0.1.0 wrote. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"id\":7 | [{\"id\":7 | $: is not an object but an array",
        "{\"ipv4\":\"10 | [\"10 | $.addressing: is not an object but an array",
        "\"10.1.0.7\" | 7 | $.addressing.ipv4: is not a string but a number",
        "{\"containerId\" | 7,{\"containerId\" | $.externalIdentifiers: is not an object but a number",
        "\"demo\" | false | $.externalIdentifiers.containerId: is not a string but a boolean",
        "\"legacyDisabled\":false | \"legacyDisabled\":0 | $.externalIdentifiers.legacyDisabled: is not true or false but a number",
        "\"legacyDisabled\":false | \"legacyDisabled\":null | $.externalIdentifiers.legacyDisabled: is not true or false but null",
        "\"mac\":\"02: | \"mac\":\"2: | $.mac: '2:00:00:00:00:01' is not a MAC address",
        "[\"app=a\"] | \"app=a\" | $.labels: is not an array but a string",
        "[\"app=a\"] | {\"app\":\"a\"} | $.labels: is not an array but an object",
        "\"app=a\" | \"app=a\",true | $.labels[1]: is not a string but a boolean",
        "\"Conntrack\":\"Enabled\" | \"Conntrack\":1 | $.options.Conntrack: is not a string but a number",
        "{\"Conntrack\" | 7,{\"Conntrack\" | $.options: is not an object but a number",
        "{\"disableSourceVerification\":null | [null | $.datapathConfiguration: is not an object but an array",
        "\"externalIpam\":null | \"externalIpam\":\"\" | $.datapathConfiguration.externalIpam: is not true or false but a string",
        "\"workload\":{ | \"workload\":null,\"a\":{ | $.workload: is not an object but null",
        "\"pid\":null | \"pid\":{} | $.workload.pid: is not an integer but an object"
      })
  void shouldNameTheMemberOfAnEndpointThatIsOfAnotherType(String was, String is, String message)
      throws Exception {
    final String file =
        new String(ReleaseFiles.of("0.1.0").read("endpoints/7.json"), StandardCharsets.UTF_8);
    final String whole = file.substring(file.indexOf('\n') + 1);
    assertTrue(whole.contains(was), was);
    refused(new EndpointCodec(), whole.replace(was, is), message);
  }

  @Test
  void shouldReadNoRevisionThatIsAText() {
    refused(
        new PrefilterCodec(),
        "{\"revision\":\"5\",\"deny\":[]}",
        "$.revision: is not an integer but a string");
    refused(
        new PrefilterCodec(),
        "{\"revision\":9223372036854775808,\"deny\":[]}",
        "$.revision: '9223372036854775808' is not an integer of 64 bits");
  }

  @Test
  void shouldNameTheFieldOfAnIcmpRuleThatIsOfAnotherType() {
    final String rule =
        "{\"endpointSelector\":{\"matchLabels\":null,\"matchExpressions\":null},\"ingress\":[{"
            + "\"endpoints\":null,\"requires\":null,\"cidrs\":null,\"cidrSets\":null,"
            + "\"entities\":null,\"toPorts\":null,\"icmps\":[";
    final String path = "$.rules[0].ingress[0].icmps[0]";
    final String start = "{\"revision\":1,\"rules\":[" + rule;
    refused(new PolicyCodec(), start + "[]", path + ": is not an object but an array");
    refused(
        new PolicyCodec(),
        start + "{\"fields\":[{\"family\":\"IPv4\",\"type\":true",
        path + ".fields[0].type: is not a string but a boolean");
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
  void shouldRefuseADocumentThatIsNoObject() {
    for (final Codec<?> codec :
        List.of(
            new ConfigurationCodec(),
            new EndpointCodec(),
            new NodeCodec(),
            new PolicyCodec(),
            new PrefilterCodec())) {
      refused(codec, "[]", "$: is not an object but an array");
    }
  }

  @Test
  void shouldRefuseARangeOfTheOtherFamily() {
    refused(
        new NodeCodec(),
        "{\"ipv4Range\":\"fd00::/96\",\"ipv6Range\":null}",
        "the IPv4 range is not one of IPv4");
    refused(
        new NodeCodec(),
        "{\"ipv4Range\":null,\"ipv6Range\":\"10.1.0.0/16\"}",
        "the IPv6 range is not one of IPv6");
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
    final String shown = "x".repeat(64);
    final String range = "{\"ipv4Range\":\"%s\",\"ipv6Range\":null}";
    refused(new NodeCodec(), range.formatted(shown), "'" + shown + "' is not");
    refused(new NodeCodec(), range.formatted(shown + "x"), "'" + shown + "...' is not");
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

  /** A file of an earlier release lacks it. */
  @Test
  void shouldTakeALaterMemberOnlyByItsName() throws Exception {
    assertEquals("x", later("{\"later\":\"x\"}"));
    assertNull(later("{}"));
    assertTrue(
        assertThrows(DamagedStateException.class, () -> later("{\"other\":\"x\"}"))
            .getMessage()
            .contains("$.other: is unknown or duplicate"));
  }

  private static String later(String document) throws DamagedStateException {
    return DocumentReader.read(
        ByteBuffer.wrap(document.getBytes(StandardCharsets.UTF_8)),
        in -> {
          in.beginObject();
          return in.lastMember("later", DocumentReader::text);
        });
  }

  @Test
  void shouldTakeEachLaterMemberInItsPlace() throws Exception {
    assertEquals("null null", twoLater("{}"));
    assertEquals("x null", twoLater("{\"first\":\"x\"}"));
    assertEquals("null y", twoLater("{\"last\":\"y\"}"));
    assertEquals("x y", twoLater("{\"first\":\"x\",\"last\":\"y\"}"));
    for (final String wrong :
        List.of(
            "{\"last\":\"y\",\"first\":\"x\"}",
            "{\"first\":\"x\",\"first\":\"x\"}",
            "{\"first\":\"x\",\"last\":\"y\",\"last\":\"y\"}")) {
      assertThrows(DamagedStateException.class, () -> twoLater(wrong), wrong);
    }
  }

  private static String twoLater(String document) throws DamagedStateException {
    return DocumentReader.read(
        ByteBuffer.wrap(document.getBytes(StandardCharsets.UTF_8)),
        in -> {
          in.beginObject();
          return in.laterMember("first", DocumentReader::text)
              + " "
              + in.lastMember("last", DocumentReader::text);
        });
  }
}
