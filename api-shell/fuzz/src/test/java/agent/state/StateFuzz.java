package agent.state;

import agent.fuzz.FuzzInputs;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** The documents of the state directory; their first line has a checksum, which is not fuzzed. */
public final class StateFuzz {
  /** A document of each kind, and files with their first line. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "{\"leases\":[{\"address\":\"10.1.0.7\",\"pool\":\"default\",\"owner\":\"\","
              + "\"endpointId\":12,\"expirationUuid\":null,\"expiresAt\":null}]}",
          "{\"leases\":[{\"address\":\"fd00::7\",\"pool\":\"other\",\"owner\":\"plugin \\u0001\","
              + "\"endpointId\":0,\"expirationUuid\":\"5f0e-1\","
              + "\"expiresAt\":\"2026-11-20T06:00:00.123456Z\"}]}",
          "{\"revision\":9007199254740993,\"deny\":[\"0.0.0.0/0\",\"2001:db8::/32\"]}",
          "{\"ipv4Range\":\"10.1.0.0/16\",\"ipv6Range\":null}",
          "{\"revision\":41,\"rules\":[]}",
          "{\"format\":1,\"kind\":\"node\",\"length\":44,\"crc32c\":\"f6432c69\"}\n"
              + "{\"ipv4Range\":\"10.1.0.0/16\",\"ipv6Range\":null}\n",
          "{\"format\":9,\"kind\":\"node\",\"new\":1}\n{}\n");

  private static final List<Codec<?>> CODECS =
      List.of(
          new LeaseCodec(),
          new PrefilterCodec(),
          new NodeCodec(),
          new PolicyCodec(),
          new EndpointCodec(),
          new ConfigurationCodec());

  private StateFuzz() {}

  /** Reads the bytes as a file and as a document of each kind. */
  public static void fuzzerTestOneInput(byte[] input) throws IOException {
    try {
      StateFile.decode("node", input);
    } catch (DamagedStateException refused) {
      // as documented
    }
    for (final Codec<?> codec : CODECS) {
      check(codec, input);
    }
  }

  private static <T> void check(Codec<T> codec, byte[] input) throws IOException {
    final T document;
    try {
      document = DocumentReader.read(ByteBuffer.wrap(input), codec::read);
    } catch (DamagedStateException refused) {
      return;
    }
    try {
      final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      for (final ByteBuffer part : DocumentWriter.write(document, codec::write)) {
        bytes.writeBytes(Arrays.copyOfRange(part.array(), part.position(), part.limit()));
      }
      final ByteBuffer written = ByteBuffer.wrap(bytes.toByteArray());
      FuzzInputs.assertSame(
          document,
          DocumentReader.read(written, codec::read),
          StandardCharsets.UTF_8.decode(written.duplicate()).toString());
    } catch (DamagedStateException e) {
      throw new AssertionError("what was written is refused", e);
    }
  }
}
