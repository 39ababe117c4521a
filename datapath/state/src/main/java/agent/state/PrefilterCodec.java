package agent.state;

import agent.datapath.spec.PrefilterList;

/** The codec of {@code prefilter/list.json}. */
final class PrefilterCodec implements Codec<PrefilterList> {
  @Override
  public void write(DocumentWriter out, PrefilterList list) {
    out.beginObject();
    out.member("revision", list.revision(), DocumentWriter::longInteger);
    out.member("deny", list.deny(), (to, prefixes) -> to.list(prefixes, DocumentWriter::text));
    out.endObject();
  }

  @Override
  public PrefilterList read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final PrefilterList list =
        new PrefilterList(
            in.member("revision", DocumentReader::longInteger),
            in.member("deny", from -> from.list(DocumentReader::prefix)));
    in.check(list.revision() > 0, "the revision is not above 0");
    in.endObject();
    return list;
  }
}
