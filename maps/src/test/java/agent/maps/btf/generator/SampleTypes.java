package agent.maps.btf.generator;

import agent.maps.btf.Btf;
import agent.maps.btf.BtfBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One header and its BTF, with a member of every kind that the generator knows. */
final class SampleTypes {
  static final Map<String, String> HEADERS =
      Map.of(
          "maps/sample_map.h",
          """
          #ifndef SAMPLE_MAP_H
          /* Not of the enum: an empty line is between them. */

          /* A color. */
          enum color {
          	COLOR_RED = 1, /* as a rose */
          	/* Before it. */
          	COLOR_GREEN =
          		2,
          	COLOR_BLUE = 4, /* over
          			 * two lines */
          };

          enum sample_flag {
          	SAMPLE_SEEN = 2,
          };

          /* Numbers of both. */
          enum sample_layout {
          	SAMPLE_SHIFT = 5,
          	SAMPLE_MASK = -1, /* every bit */
          };

          enum sample_size {
          	SAMPLES_MAX = 65536, /* entries */
          };

          struct inner {
          	__u32 number; /* of the inner one */
          };
          _Static_assert(sizeof(struct inner) == 4, "inner");

          /*
           * What is known of a sample, <b> & {more} @home: enum color, struct inner, struct other.
           *
           * A second paragraph.
           */
          struct sample {
          	__u8 kind;  /* enum color */
          	__u8 has_more;
          	__be16 client_port_be; /* 0: none. */
          	__u32 number;
          	__u64 wide;
          	__be32 low_address;
          	__u16 count;
          	__u8 octets[2];
          	__u8 mac[6];
          	__u8 reserved[2];
          	__u8 ipv4[4];
          	__u32 numbers[2]; /* by side */
          	struct inner inner;
          	__u64 totals[SIDES];
          	__u8 ipv6[16];
          	__u32 lifetime_s : 24; /* in seconds */
          	__u32 mode : 8;
          	__u16 sizes[2];
          	__be64 serial_be;
          	/* With a flag, the other one. */
          	union {
          		__u64 packets[2];
          		struct {
          			__u8 address[16]; /* of the peer */
          		} relay;
          	};
          };
          #endif
          """);

  private SampleTypes() {}

  /** Shows every type of the header, as {@code tests/layouts.bpf.c} does. */
  static Btf btf() {
    final Types types = new Types();
    final int color =
        types.builder.type(
            6, false, 3, "color", 4, "COLOR_RED", 1, "COLOR_GREEN", 2, "COLOR_BLUE", 4);
    final int flag = types.builder.type(6, false, 1, "sample_flag", 4, "SAMPLE_SEEN", 2);
    final int layout =
        types.builder.type(6, true, 2, "sample_layout", 4, "SAMPLE_SHIFT", 5, "SAMPLE_MASK", -1);
    final int size = types.builder.type(6, false, 1, "sample_size", 4, "SAMPLES_MAX", 65536);
    final int inner = types.struct("inner", 4, types.member("number", types.u32, 0));
    final int relay =
        types.struct("", 16, types.member("address", types.builder.array(types.u8, 16), 0));
    final int either =
        types.builder.type(
            5,
            false,
            2,
            "",
            16,
            "packets",
            types.builder.array(types.u64, 2),
            0,
            "relay",
            relay,
            0);
    final int sample =
        types.struct(
            "sample",
            112,
            types.member("kind", types.u8, 0),
            types.member("has_more", types.u8, 1),
            types.member("client_port_be", types.be16, 2),
            types.member("number", types.u32, 4),
            types.member("wide", types.u64, 8),
            types.member("low_address", types.be32, 16),
            types.member("count", types.u16, 20),
            types.member("octets", types.builder.array(types.u8, 2), 22),
            types.member("mac", types.builder.array(types.u8, 6), 24),
            types.member("reserved", types.builder.array(types.u8, 2), 30),
            types.member("ipv4", types.builder.array(types.u8, 4), 32),
            types.member("numbers", types.builder.array(types.u32, 2), 36),
            types.member("inner", inner, 44),
            types.member("totals", types.builder.array(types.u64, 2), 48),
            types.member("ipv6", types.builder.array(types.u8, 16), 64),
            new Object[] {"lifetime_s", types.u32, 24 << 24 | 80 * 8},
            new Object[] {"mode", types.u32, 8 << 24 | 83 * 8},
            types.member("sizes", types.builder.array(types.u16, 2), 84),
            types.member("serial_be", types.be64, 88),
            types.member("", either, 96));
    types.show("layout_color", color);
    types.show("layout_sample_flag", flag);
    types.show("numbers_sample_layout", layout);
    types.show("numbers_sample_size", size);
    types.show("layout_inner", inner);
    types.show("layout_sample", sample);
    types.show("something_else", inner);
    return types.builder.btf();
  }

  /** The integer types of the kernel's headers. */
  static final class Types {
    final BtfBuilder builder = new BtfBuilder();
    final int u8 = builder.typedef("__u8", builder.integer("unsigned char", 1));
    final int u16 = builder.typedef("__u16", builder.integer("unsigned short", 2));
    final int u32 = builder.typedef("__u32", builder.integer("unsigned int", 4));
    final int u64 = builder.typedef("__u64", builder.integer("unsigned long long", 8));
    final int be16 = builder.typedef("__be16", u16);
    final int be32 = builder.typedef("__be32", u32);
    final int be64 = builder.typedef("__be64", u64);

    Object[] member(String name, int type, int offset) {
      return new Object[] {name, type, offset * Byte.SIZE};
    }

    int struct(String name, int length, Object[]... members) {
      final List<Object> values = new ArrayList<>();
      for (final Object[] member : members) {
        values.addAll(List.of(member));
      }
      return builder.type(4, true, members.length, name, length, values.toArray());
    }

    void show(String variable, int type) {
      builder.type(14, false, 0, variable, type, 1);
    }
  }
}
