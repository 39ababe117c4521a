package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.maps.btf.DataSectionLayout.Location;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Variables of an object whose section {@code .data} has 8 bytes. */
class DataSectionLayoutTest {
  private final ElfObject object = ElfObjectTest.withSymbols(ByteOrder.LITTLE_ENDIAN);

  /** Returns the BTF of one variable of 4 bytes, whose slot has the offset 1 in the BTF. */
  private static Btf variable(String name, int size) {
    final BtfBuilder builder = new BtfBuilder();
    final int number = builder.typedef("__u32", builder.integer("unsigned int", 4));
    final int variable = builder.type(14, false, 0, name, number, 1);
    builder.type(15, false, 1, ".data", 8, variable, 1, size);
    return builder.btf();
  }

  private String refusal(Btf btf) {
    return assertThrows(BtfException.class, () -> DataSectionLayout.of(object, btf, ".data"))
        .getMessage();
  }

  /** The BTF of a compiler has no offsets yet: those of symbols are right. */
  @Test
  void shouldTakeTheOffsetFromTheSymbolWhereThereIsOne() {
    final DataSectionLayout layout = DataSectionLayout.of(object, variable("one", 4), ".data");
    assertEquals(
        new DataSectionLayout(".data", 8, List.of(new Location("one", 2, 4, "__u32"))), layout);
    assertEquals(
        List.of(new Location("hidden", 1, 4, "__u32")),
        DataSectionLayout.of(object, variable("hidden", 4), ".data").variables());
  }

  @Test
  void shouldRefuseAVariableThatExceedsItsSection() {
    assertEquals(
        "BTF: variable two in .data: 4 bytes at offset 6, BTF states 4 bytes, section of 8 bytes",
        refusal(variable("two", 4)));
    assertEquals(
        "BTF: variable one in .data: 4 bytes at offset 2, BTF states 8 bytes, section of 8 bytes",
        refusal(variable("one", 8)));
    assertEquals("BTF: no data section .data", refusal(new BtfBuilder().btf()));
  }
}
