package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Changes each byte of every stored document and truncates it at every length: the reader must
 * refuse it or return the same value, and must throw only {@link DamagedStateException}.
 */
class DamagedFilesTest {
  private record Stored(String kind, byte[] file, Codec<?> codec) {
    Object read(byte[] bytes) throws DamagedStateException {
      return DocumentReader.read(StateFile.decode(kind, bytes), codec::read);
    }

    ByteBuffer document() throws DamagedStateException {
      return StateFile.decode(kind, file);
    }
  }

  private static final byte[] JSON_BYTES = "{}[]:,\"\\0-.e \n".getBytes(StandardCharsets.US_ASCII);

  private final Map<String, Stored> all = new LinkedHashMap<>();

  @BeforeEach
  void readFiles() throws Exception {
    final ReleaseFiles release = ReleaseFiles.of("0.1.0");
    for (final String name : release.names()) {
      if (name.endsWith("-copy.json")) {
        continue;
      }
      final byte[] file = release.read(name);
      all.put(
          name,
          switch (name.substring(0, name.indexOf('/'))) {
            case "endpoints" -> new Stored("endpoint", file, new EndpointCodec());
            case "policy" -> new Stored("policy", file, new PolicyCodec());
            case "ipam" -> new Stored("leases", file, new LeaseCodec());
            case "node" -> new Stored("node", file, new NodeCodec());
            case "prefilter" -> new Stored("prefilter", file, new PrefilterCodec());
            default -> throw new AssertionError(name);
          });
    }
  }

  @Test
  void shouldRefuseAFileWithAnyByteChangedOrReadTheSame() throws Exception {
    for (final Map.Entry<String, Stored> entry : all.entrySet()) {
      final Stored stored = entry.getValue();
      final Object whole = stored.read(stored.file());
      for (int i = 0; i < stored.file().length; i++) {
        for (int bit = 0; bit < Byte.SIZE; bit++) {
          final byte[] changed = stored.file().clone();
          changed[i] ^= (byte) (1 << bit);
          try {
            assertEquals(whole, stored.read(changed), entry.getKey() + ": byte " + i);
          } catch (DamagedStateException e) {
            assertEquals(false, e.getMessage().isEmpty());
          } catch (RuntimeException e) {
            fail(entry.getKey() + ": byte " + i + ", bit " + bit, e);
          }
        }
      }
    }
  }

  @Test
  void shouldRefuseAFileCutAtAnyLength() {
    all.forEach(
        (name, stored) -> {
          for (int length = 0; length < stored.file().length; length++) {
            final byte[] cut = Arrays.copyOf(stored.file(), length);
            assertThrows(
                DamagedStateException.class, () -> stored.read(cut), name + ": " + cut.length);
          }
        });
  }

  /** Damages the document before the checksum is computed. */
  @Test
  void shouldThrowNothingElseForADocumentWithAnyByteChanged() throws Exception {
    for (final Map.Entry<String, Stored> entry : all.entrySet()) {
      final ByteBuffer document = entry.getValue().document();
      for (int i = document.position(); i < document.limit(); i++) {
        final byte original = document.array()[i];
        for (final byte value : replacements(original)) {
          document.array()[i] = value;
          try {
            readAgain(entry.getValue().codec(), document);
          } catch (DamagedStateException e) {
            assertEquals('$', e.getMessage().charAt(0), e.getMessage());
          } catch (RuntimeException | AssertionError e) {
            fail(entry.getKey() + ": byte " + i + " is " + value, e);
          }
        }
        document.array()[i] = original;
      }
    }
  }

  /**
   * Returns the replacements of a byte: JSON syntax, another character, and a byte that is not
   * ASCII.
   */
  private static byte[] replacements(byte original) {
    final byte[] values = Arrays.copyOf(JSON_BYTES, JSON_BYTES.length + 2);
    values[JSON_BYTES.length] = (byte) (original ^ 1);
    values[JSON_BYTES.length + 1] = (byte) (original ^ 0x80);
    return values;
  }

  @Test
  void shouldRefuseADocumentCutAtAnyLength() throws Exception {
    for (final Map.Entry<String, Stored> entry : all.entrySet()) {
      final ByteBuffer document = entry.getValue().document();
      for (int length = 0; length < document.remaining(); length++) {
        final ByteBuffer cut = document.duplicate().limit(document.position() + length);
        assertThrows(
            DamagedStateException.class,
            () -> DocumentReader.read(cut, entry.getValue().codec()::read),
            entry.getKey() + ": " + length);
      }
    }
  }

  /** An accepted document is a value that can be stored and read again. */
  private static <T> void readAgain(Codec<T> codec, ByteBuffer document) throws Exception {
    final T value = DocumentReader.read(document, codec::read);
    assertEquals(
        value,
        DocumentReader.read(
            JoinedParts.of(DocumentWriter.write(value, codec::write)), codec::read));
  }
}
