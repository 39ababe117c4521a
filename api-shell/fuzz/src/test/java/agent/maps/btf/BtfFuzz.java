package agent.maps.btf;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** BTF, by itself and in an ELF object. */
public final class BtfFuzz {
  /** The start of a program of the agent, parts of its BTF, and nothing. */
  public static final List<byte[]> SEEDS = seeds();

  private BtfFuzz() {}

  private static List<byte[]> seeds() {
    try (InputStream in = BtfFuzz.class.getResourceAsStream("/bpf/prefilter.bpf.o")) {
      final byte[] object = in.readAllBytes();
      final byte[] btf = ElfObject.parse(object).section(Btf.SECTION);
      final List<byte[]> seeds = new ArrayList<>();
      seeds.add(object);
      seeds.add(btf);
      seeds.add(java.util.Arrays.copyOf(btf, btf.length / 2));
      seeds.add(new byte[0]);
      seeds.add(new byte[] {(byte) 0x9f, (byte) 0xeb, 1, 0, 24, 0, 0, 0});
      return List.copyOf(seeds);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Reads the bytes as BTF and as an object. */
  public static void fuzzerTestOneInput(byte[] input) {
    try {
      visit(Btf.parse(input));
    } catch (BtfException refused) {
      // as documented
    }
    try {
      final ElfObject object = ElfObject.parse(input);
      object.symbol(".rodata", "config");
      visit(Btf.of(object));
    } catch (BtfException refused) {
      // as documented
    }
  }

  private static void visit(Btf btf) {
    for (int id = 0; id < btf.size(); id++) {
      try {
        btf.declaredName(id);
        btf.sizeOf(id);
      } catch (BtfException | ArithmeticException refused) {
        continue; // a type without a size, or that refers to itself
      }
    }
  }
}
