package agent.maps.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigInteger;
import org.junit.jupiter.api.Test;

/** Where an address is found, computed by other arithmetic than that of the class. */
class PrefilterGeometryTest {
  private static final BigInteger HASH = new BigInteger("9e3779b97f4a7c15", 16);
  private static final long[] ADDRESSES = {
    0, 1, 0x2001_0db8_0000_0000L, 0x2001_0db8_1234_5678L, 0xfd00_0000_0000_0000L, -1
  };

  /** Returns the top bits of the product modulo 2^64. */
  private static int hashed(long number, int bits) {
    return HASH.multiply(new BigInteger(Long.toUnsignedString(number)))
        .mod(BigInteger.TWO.pow(64))
        .shiftRight(64 - bits)
        .intValueExact();
  }

  @Test
  void shouldNumberCellsByTheFirst24Bits() {
    assertEquals(0x0a0102, PrefilterGeometry.cell4(0x0a0102ff));
    assertEquals(0xffffff, PrefilterGeometry.cell4(-1));
    assertEquals(0x20010d, PrefilterGeometry.wideCell6(0x2001_0db8_0000_0000L));
    assertEquals(0xffffff, PrefilterGeometry.wideCell6(-1));
  }

  @Test
  void shouldFindTheWordAndTheBitsOfACell() {
    assertEquals(0, PrefilterGeometry.word(31));
    assertEquals(1, PrefilterGeometry.word(32));
    assertEquals(524_287, PrefilterGeometry.word(0xffffff));
    assertEquals(0, PrefilterGeometry.shift(32));
    assertEquals(2, PrefilterGeometry.shift(33));
    assertEquals(62, PrefilterGeometry.shift(31));
    assertEquals(0, PrefilterGeometry.narrowWord(63));
    assertEquals(1, PrefilterGeometry.narrowWord(64));
    assertEquals(1, PrefilterGeometry.narrowBit(64));
    assertEquals(Long.MIN_VALUE, PrefilterGeometry.narrowBit(127));
  }

  @Test
  void shouldSpreadTheFirst48BitsOverNarrowCells() {
    for (final long address : ADDRESSES) {
      final int cell = hashed(address >>> 16, 24);
      assertEquals(cell, PrefilterGeometry.narrowCell6(address));
      assertEquals(cell, PrefilterGeometry.narrowCell6(address | 0xffff));
      assertEquals((1 << 17) + (cell >>> 7), PrefilterGeometry.narrowBucket(address));
    }
  }

  @Test
  void shouldSpreadTheFirst24BitsOverTheOtherBuckets() {
    for (final long address : ADDRESSES) {
      final int bucket = hashed(address >>> 40, 17);
      assertEquals(bucket, PrefilterGeometry.wideBucket(address));
      assertEquals(bucket, PrefilterGeometry.wideBucket(address | 0xff_ffff_ffffL));
    }
  }

  @Test
  void shouldPutSlotsBehindTheWordsThatAreFound() {
    assertEquals(131_072, PrefilterGeometry.FIRST_LEAF);
    assertEquals(65_536, PrefilterGeometry.FIRST_ENTRY);
    assertEquals(262_144, PrefilterGeometry.BUCKET_WORDS);
    assertEquals(524_288, PrefilterGeometry.CELL_WORDS);
    assertEquals(262_144, PrefilterGeometry.NARROW_WORDS);
  }

  @Test
  void shouldPutAnAddressAndItsMaskIntoABlock() {
    assertEquals(0x0a010203 >>> 13, PrefilterGeometry.block4(0x0a010203));
    assertEquals(524_287, PrefilterGeometry.block4(-1), "an unsigned address");
    assertEquals(0x1fffL << 13 | 0x203, PrefilterGeometry.blockPrefix(0x0a010203, 32));
    assertEquals(0x1fc0L << 13 | 0x200, PrefilterGeometry.blockPrefix(0x0a010200, 26));
    assertEquals(0x1f80L << 13 | 0x1f80, PrefilterGeometry.blockPrefix(0xc0a8_1f80, 25));
  }
}
