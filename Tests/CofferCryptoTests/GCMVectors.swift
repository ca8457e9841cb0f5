import CofferCrypto
import Foundation

/// A published example of AES-256-GCM with a nonce of 96 bits and a tag of 128 bits, in hexadecimal.
struct GCMVector: Sendable, CustomStringConvertible {
  let description: String
  let key: String
  let nonce: String
  let plaintext: String
  let aad: String
  let ciphertext: String
  let tag: String
}

extension GCMVector {
  /// D. McGrew and J. Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases 13 to 16; and NIST
  /// CAVP, `gcmEncryptExtIV256.rsp` (gcmtestvectors.zip), the first two of several groups.
  static let published: [GCMVector] = [
    GCMVector(
      description: "McGrew-Viega 13",
      key: "0000000000000000000000000000000000000000000000000000000000000000",
      nonce: "000000000000000000000000",
      plaintext: "",
      aad: "",
      ciphertext: "",
      tag: "530f8afbc74536b9a963b4f1c4cb738b"),
    GCMVector(
      description: "McGrew-Viega 14",
      key: "0000000000000000000000000000000000000000000000000000000000000000",
      nonce: "000000000000000000000000",
      plaintext: "00000000000000000000000000000000",
      aad: "",
      ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
      tag: "d0d1c8a799996bf0265b98b5d48ab919"),
    GCMVector(
      description: "McGrew-Viega 15",
      key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
      nonce: "cafebabefacedbaddecaf888",
      plaintext:
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        + "b16aedf5aa0de657ba637b391aafd255",
      aad: "",
      ciphertext:
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
        + "c5f61e6393ba7a0abcc9f662898015ad",
      tag: "b094dac5d93471bdec1a502270e3cc6c"),
    GCMVector(
      description: "McGrew-Viega 16",
      key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
      nonce: "cafebabefacedbaddecaf888",
      plaintext:
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        + "b16aedf5aa0de657ba637b39",
      aad: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      ciphertext:
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
        + "c5f61e6393ba7a0abcc9f662",
      tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    GCMVector(
      description: "NIST PT 0 AAD 0 count 0",
      key: "b52c505a37d78eda5dd34f20c22540ea1b58963cf8e5bf8ffa85f9f2492505b4",
      nonce: "516c33929df5a3284ff463d7",
      plaintext: "",
      aad: "",
      ciphertext: "",
      tag: "bdc1ac884d332457a1d2664f168c76f0"),
    GCMVector(
      description: "NIST PT 0 AAD 0 count 1",
      key: "5fe0861cdc2690ce69b3658c7f26f8458eec1c9243c5ba0845305d897e96ca0f",
      nonce: "770ac1a5a3d476d5d96944a1",
      plaintext: "",
      aad: "",
      ciphertext: "",
      tag: "196d691e1047093ca4b3d2ef4baba216"),
    GCMVector(
      description: "NIST PT 0 AAD 160 count 0",
      key: "886cff5f3e6b8d0e1ad0a38fcdb26de97e8acbe79f6bed66959a598fa5047d65",
      nonce: "3a8efa1cd74bbab5448f9945",
      plaintext: "",
      aad: "519fee519d25c7a304d6c6aa1897ee1eb8c59655",
      ciphertext: "",
      tag: "f6d47505ec96c98a42dc3ae719877b87"),
    GCMVector(
      description: "NIST PT 0 AAD 160 count 1",
      key: "6937a57d35fe6dc3fc420b123bccdce874bd4c18f2e7c01ce2faf33d3944fd9d",
      nonce: "a87247797b758467b96310f3",
      plaintext: "",
      aad: "ead961939a33dd578f8e93db8b28a1c85362905f",
      ciphertext: "",
      tag: "599de3ecf22cb867f03f7f6d9fd7428a"),
    GCMVector(
      description: "NIST PT 0 AAD 720 count 0",
      key: "03ccb7dbc7b8425465c2c3fc39ed0593929ffd02a45ff583bd89b79c6f646fe9",
      nonce: "fd119985533bd5520b301d12",
      plaintext: "",
      aad:
        "98e68c10bf4b5ae62d434928fc6405147c6301417303ef3a703dcfd2c0c339a4d0a89bd29fe61fecf1066ab06d7a5c31"
        + "a48ffbfed22f749b17e9bd0dc1c6f8fbd6fd4587184db964d5456132106d782338c3f117ec05229b0899",
      ciphertext: "",
      tag: "cf54e7141349b66f248154427810c87a"),
    GCMVector(
      description: "NIST PT 0 AAD 720 count 1",
      key: "57e112cd45f2c57ddb819ea651c206763163ef016ceead5c4eae40f2bbe0e4b4",
      nonce: "188022c2125d2b1fcf9e4769",
      plaintext: "",
      aad:
        "09c8f445ce5b71465695f838c4bb2b00624a1c9185a3d552546d9d2ee4870007aaf3007008f8ae9affb7588b88d09a90"
        + "e58b457f88f1e3752e3fb949ce378670b67a95f8cf7f5c7ceb650efd735dbc652cae06e546a5dbd861bd",
      ciphertext: "",
      tag: "9efcddfa0be21582a05749f4050d29fe"),
    GCMVector(
      description: "NIST PT 128 AAD 0 count 0",
      key: "31bdadd96698c204aa9ce1448ea94ae1fb4a9a0b3c9d773b51bb1822666b8f22",
      nonce: "0d18e06c7c725ac9e362e1ce",
      plaintext: "2db5168e932556f8089a0622981d017d",
      aad: "",
      ciphertext: "fa4362189661d163fcd6a56d8bf0405a",
      tag: "d636ac1bbedd5cc3ee727dc2ab4a9489"),
    GCMVector(
      description: "NIST PT 128 AAD 0 count 1",
      key: "460fc864972261c2560e1eb88761ff1c992b982497bd2ac36c04071cbb8e5d99",
      nonce: "8a4a16b9e210eb68bcb6f58d",
      plaintext: "99e4e926ffe927f691893fb79a96b067",
      aad: "",
      ciphertext: "133fc15751621b5f325c7ff71ce08324",
      tag: "ec4e87e0cf74a13618d0b68636ba9fa7"),
    GCMVector(
      description: "NIST PT 128 AAD 128 count 0",
      key: "92e11dcdaa866f5ce790fd24501f92509aacf4cb8b1339d50c9c1240935dd08b",
      nonce: "ac93a1a6145299bde902f21a",
      plaintext: "2d71bcfa914e4ac045b2aa60955fad24",
      aad: "1e0889016f67601c8ebea4943bc23ad6",
      ciphertext: "8995ae2e6df3dbf96fac7b7137bae67f",
      tag: "eca5aa77d51d4a0a14d9c51e1da474ab"),
    GCMVector(
      description: "NIST PT 128 AAD 128 count 1",
      key: "7da3bccaffb3464178ca7c722379836db50ce0bfb47640b9572163865332e486",
      nonce: "c04fd2e701c3dc62b68738b3",
      plaintext: "fd671cab1ee21f0df6bb610bf94f0e69",
      aad: "fec0311013202e4ffdc4204926ae0ddf",
      ciphertext: "6be61b17b7f7d494a7cdf270562f37ba",
      tag: "5e702a38323fe1160b780d17adad3e96"),
    GCMVector(
      description: "NIST PT 104 AAD 160 count 0",
      key: "69b458f2644af9020463b40ee503cdf083d693815e2659051ae0d039e606a970",
      nonce: "8d1da8ab5f91ccd09205944b",
      plaintext: "f3e0e09224256bf21a83a5de8d",
      aad: "036ad5e5494ef817a8af2f5828784a4bfedd1653",
      ciphertext: "c0a62d77e6031bfdc6b13ae217",
      tag: "a794a9aaee48cd92e47761bf1baff0af"),
    GCMVector(
      description: "NIST PT 104 AAD 160 count 1",
      key: "97431e565e8370a4879de962746a2fd67eca868b1c8e51eece2c1f94f74af407",
      nonce: "17fb63066e2726d282ecc610",
      plaintext: "e21629cc973fbe40176e621d9d",
      aad: "78e7374da7c77be5938de8dd76cf0308618306a9",
      ciphertext: "80dbd469de480389ba6c2fca52",
      tag: "4e284abb8b4f9f13c7497ae56df05fa5"),
    GCMVector(
      description: "NIST PT 256 AAD 384 count 0",
      key: "dc776f0156c15d032623854b625c61868e5db84b7b6f9fbd3672f12f0025e0f6",
      nonce: "67130951c4a57f6ae7f13241",
      plaintext: "9378a727a5119595ad631b12a5a6bc8a91756ef09c8d6eaa2b718fe86876da20",
      aad:
        "fd0920faeb7b212932280a009bac969145e5c316cf3922622c3705c3457c4e9f124b2076994323fbcfb523f8ed16d241",
      ciphertext: "6d958c20870d401a3c1f7a0ac092c97774d451c09f7aae992a8841ff0ab9d60d",
      tag: "b876831b4ecd7242963b040aa45c4114"),
    GCMVector(
      description: "NIST PT 256 AAD 384 count 1",
      key: "07b3b8735d67a05632c557076ac41293f52540bac0521573e8c0414ec36f7220",
      nonce: "0046420eee8d56de35e2f7d5",
      plaintext: "4835d489828325a0cb38a59fc29cfeedccae25f2e9c399281d9b7641fb609765",
      aad:
        "d51cedf9a30e476de37c90b2f60882193630c7497a921ab01590a26bce8cb247e3b5590e7b07b955956ca89c7a041988",
      ciphertext: "46eb31cd98b6cc3ecafe1cd1fc2d45fa693667cbd3a7d2c5f8c10296827ea83c",
      tag: "36cd4e76dd0679887477bfb96cf1c5f6"),
    GCMVector(
      description: "NIST PT 256 AAD 720 count 0",
      key: "26bf255bee60ef0f653769e7034db95b8c791752754e575c761059e9ee8dcf78",
      nonce: "cecd97ab07ce57c1612744f5",
      plaintext: "96983917a036650763aca2b4e927d95ffc74339519ed40c4336dba91edfbf9ad",
      aad:
        "afebbe9f260f8c118e52b84d8880a34622675faef334cdb41be9385b7d059b79c0f8a432d25f8b71e781b177fce4d4c5"
        + "7ac5734543e85d7513f96382ff4b2d4b95b2f1fdbaf9e78bbd1db13a7dd26e8a4ac83a3e8ab42d1d545f",
      ciphertext: "e34b1540a769f7913331d66796e00bdc3ee0f258cf244eb7663375cc5ad6c658",
      tag: "3841f02beb7a7fca7e578922d0a2f80c"),
    GCMVector(
      description: "NIST PT 256 AAD 720 count 1",
      key: "74ce3121c18bbff4756ad10d0f293bb1ea3f93490daad0249cd3b05e223c9747",
      nonce: "81107afb4c264f65ae0002b1",
      plaintext: "7a133385ead593c3907806bec12240943f00a8c3c1b0ac73b8b81af2d3192c6f",
      aad:
        "f00847f848d758494afd90b6c49375e0e76e26dcba284e9a608eae33b87ad2deac28ccf40d2db154bbe10dc0fd69b09c"
        + "9b8920f0f74ea62dd68df275074e288e76a290336b3bf6b485c0159525c362092408f51167c8e59e218f",
      ciphertext: "64bd17f3e8f71a4844b970d4ebc119961812efb9015b818e8d88b906d5efbd76",
      tag: "46d0e42aa046237efee17eab6d9cfb75"),
    GCMVector(
      description: "NIST PT 408 AAD 0 count 0",
      key: "1fded32d5999de4a76e0f8082108823aef60417e1896cf4218a2fa90f632ec8a",
      nonce: "1f3afa4711e9474f32e70462",
      plaintext:
        "06b2c75853df9aeb17befd33cea81c630b0fc53667ff45199c629c8e15dce41e530aa792f796b8138eeab2e86c7b7bee"
        + "1d40b0",
      aad: "",
      ciphertext:
        "91fbd061ddc5a7fcc9513fcdfdc9c3a7c5d4d64cedf6a9c24ab8a77c36eefbf1c5dc00bc50121b96456c8cd8b6ff1f8b"
        + "3e480f",
      tag: "30096d340f3d5c42d82a6f475def23eb"),
    GCMVector(
      description: "NIST PT 408 AAD 0 count 1",
      key: "b405ac89724f8b555bfee1eaa369cd854003e9fae415f28c5a199d4d6efc83d6",
      nonce: "cec71a13b14c4d9bd024ef29",
      plaintext:
        "ab4fd35bef66addfd2856b3881ff2c74fdc09c82abe339f49736d69b2bd0a71a6b4fe8fc53f50f8b7d6d6d6138ab442c"
        + "7f653f",
      aad: "",
      ciphertext:
        "69a079bca9a6a26707bbfa7fd83d5d091edc88a7f7ff08bd8656d8f2c92144ff23400fcb5c370b596ad6711f386e18f2"
        + "629e76",
      tag: "6d2b7861a3c59ba5a3e3a11c92bb2b14"),
    GCMVector(
      description: "NIST PT 408 AAD 720 count 0",
      key: "148579a3cbca86d5520d66c0ec71ca5f7e41ba78e56dc6eebd566fed547fe691",
      nonce: "b08a5ea1927499c6ecbfd4e0",
      plaintext:
        "9d0b15fdf1bd595f91f8b3abc0f7dec927dfd4799935a1795d9ce00c9b879434420fe42c275a7cd7b39d638fb81ca52b"
        + "49dc41",
      aad:
        "e4f963f015ffbb99ee3349bbaf7e8e8e6c2a71c230a48f9d59860a29091d2747e01a5ca572347e247d25f56ba7ae8e05"
        + "cde2be3c97931292c02370208ecd097ef692687fecf2f419d3200162a6480a57dad408a0dfeb492e2c5d",
      ciphertext:
        "2097e372950a5e9383c675e89eea1c314f999159f5611344b298cda45e62843716f215f82ee663919c64002a5c198d78"
        + "78fd3f",
      tag: "adbecdb0d5c2224d804d2886ff9a5760"),
    GCMVector(
      description: "NIST PT 408 AAD 720 count 1",
      key: "e49af19182faef0ebeeba9f2d3be044e77b1212358366e4ef59e008aebcd9788",
      nonce: "e7f37d79a6a487a5a703edbb",
      plaintext:
        "461cd0caf7427a3d44408d825ed719237272ecd503b9094d1f62c97d63ed83a0b50bdc804ffdd7991da7a5b6dcf48d4b"
        + "cd2cbc",
      aad:
        "19a9a1cfc647346781bef51ed9070d05f99a0e0192a223c5cd2522dbdf97d9739dd39fb178ade3339e68774b058aa03e"
        + "9a20a9a205bc05f32381df4d63396ef691fefd5a71b49a2ad82d5ea428778ca47ee1398792762413cff4",
      ciphertext:
        "32ca3588e3e56eb4c8301b009d8b84b8a900b2b88ca3c21944205e9dd7311757b51394ae90d8bb3807b471677614f419"
        + "8af909",
      tag: "3e403d035c71d88f1be1a256c89ba6ad"),
  ]
}
