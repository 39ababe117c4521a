package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** Reads the objects that the build of bpf-src adds to the class path. */
public final class ShippedObjects {
  private ShippedObjects() {}

  public static ElfObject read(String name) {
    final String path = "/bpf/" + name + ".bpf.o";
    try (InputStream stream = ShippedObjects.class.getResourceAsStream(path)) {
      assertNotNull(stream, path + " is not on the class path");
      return ElfObject.parse(stream.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
