internal import CKVCodable
