/// A country or territory of ISO 3166-1, in which a product is sold: known by its alpha-3 code, as stores name it.
public struct Territory: Hashable, Sendable {
  /// Three capital letters: `FRA`.
  public let code: String
  /// The alpha-2 code, by which CLDR knows it: `FR`.
  public let region: String

  /// Nil unless `code` is an alpha-3 code that ISO 3166-1 has assigned.
  public init?(_ code: String) {
    guard let region = Self.regions[code] else { return nil }
    self.code = code
    self.region = region
  }

  /// Nil unless `region` is an alpha-2 code that ISO 3166-1 has assigned.
  public init?(region: String) {
    guard let code = Self.codesByRegion[region] else { return nil }
    self.code = code
    self.region = region
  }

  /// Every one that there is, in the order of the codes.
  public static var all: [Territory] { regions.keys.sorted().compactMap(Territory.init(_:)) }

  private static let regions = Dictionary(
    uniqueKeysWithValues: codes.split(whereSeparator: \.isWhitespace).map { pair in
      (String(pair.prefix(3)), String(pair.suffix(2)))
    })

  private static let codesByRegion = Dictionary(
    uniqueKeysWithValues: regions.map { ($0.value, $0.key) })

  /// The alpha-3 code of each, and its alpha-2 code behind it.
  private static let codes = """
    ABWAW AFGAF AGOAO AIAAI ALAAX ALBAL ANDAD AREAE ARGAR ARMAM ASMAS ATAAQ ATFTF ATGAG AUSAU AUTAT
    AZEAZ BDIBI BELBE BENBJ BESBQ BFABF BGDBD BGRBG BHRBH BHSBS BIHBA BLMBL BLRBY BLZBZ BMUBM BOLBO
    BRABR BRBBB BRNBN BTNBT BVTBV BWABW CAFCF CANCA CCKCC CHECH CHLCL CHNCN CIVCI CMRCM CODCD COGCG
    COKCK COLCO COMKM CPVCV CRICR CUBCU CUWCW CXRCX CYMKY CYPCY CZECZ DEUDE DJIDJ DMADM DNKDK DOMDO
    DZADZ ECUEC EGYEG ERIER ESHEH ESPES ESTEE ETHET FINFI FJIFJ FLKFK FRAFR FROFO FSMFM GABGA GBRGB
    GEOGE GGYGG GHAGH GIBGI GINGN GLPGP GMBGM GNBGW GNQGQ GRCGR GRDGD GRLGL GTMGT GUFGF GUMGU GUYGY
    HKGHK HMDHM HNDHN HRVHR HTIHT HUNHU IDNID IMNIM INDIN IOTIO IRLIE IRNIR IRQIQ ISLIS ISRIL ITAIT
    JAMJM JEYJE JORJO JPNJP KAZKZ KENKE KGZKG KHMKH KIRKI KNAKN KORKR KWTKW LAOLA LBNLB LBRLR LBYLY
    LCALC LIELI LKALK LSOLS LTULT LUXLU LVALV MACMO MAFMF MARMA MCOMC MDAMD MDGMG MDVMV MEXMX MHLMH
    MKDMK MLIML MLTMT MMRMM MNEME MNGMN MNPMP MOZMZ MRTMR MSRMS MTQMQ MUSMU MWIMW MYSMY MYTYT NAMNA
    NCLNC NERNE NFKNF NGANG NICNI NIUNU NLDNL NORNO NPLNP NRUNR NZLNZ OMNOM PAKPK PANPA PCNPN PERPE
    PHLPH PLWPW PNGPG POLPL PRIPR PRKKP PRTPT PRYPY PSEPS PYFPF QATQA REURE ROURO RUSRU RWARW SAUSA
    SDNSD SENSN SGPSG SGSGS SHNSH SJMSJ SLBSB SLESL SLVSV SMRSM SOMSO SPMPM SRBRS SSDSS STPST SURSR
    SVKSK SVNSI SWESE SWZSZ SXMSX SYCSC SYRSY TCATC TCDTD TGOTG THATH TJKTJ TKLTK TKMTM TLSTL TONTO
    TTOTT TUNTN TURTR TUVTV TWNTW TZATZ UGAUG UKRUA UMIUM URYUY USAUS UZBUZ VATVA VCTVC VENVE VGBVG
    VIRVI VNMVN VUTVU WLFWF WSMWS YEMYE ZAFZA ZMBZM ZWEZW
    """
}
